/** An error with fields, as the adapters of LangChain throw it. */
function thrown(message: string, fields: object): () => Error {
  return () => Object.assign(new Error(message), fields);
}

const tooLong = "Your messages exceed this model's maximum context length.";

/** Errors that the same request gets again: what each adapter throws, see its source. */
export const refusals: Readonly<Record<string, () => Error>> = {
  "openai, content filter": thrown("400 The response was filtered", { status: 400, code: "content_filter" }),
  "openai, unreadable image": thrown("400 You uploaded an unsupported image", { status: 400, name: "BadRequestError" }),
  "openai, 413": thrown("413 Request too large", { status: 413 }),
  "openai, 422": thrown("422 Unprocessable", { status: 422, name: "UnprocessableEntityError" }),
  "anthropic, 400": thrown("400 messages.0: image exceeds 5 MB", { status: 400 }),
  "google, 400": thrown("Unable to process input image", { statusCode: 400, name: "RequestError" }),
  "google, blocked prompt": thrown("The prompt was blocked", { name: "PromptBlockedError", blockReason: "SAFETY" }),
  "google-genai, blocked prompt": thrown("No content", { name: "EmptyContentError", blockReason: "OTHER" }),
  "mistral, 422": thrown("Unprocessable", { statusCode: 422, name: "HTTPValidationError" }),
  "bedrock, 400": thrown("The model returned an error", {
    $metadata: { httpStatusCode: 400 },
    name: "ValidationException",
  }),
};

/** Refusals of what is too long, without sizes: no scene is as long as a window. */
export const overflows: Readonly<Record<string, () => Error>> = {
  "openai, as it is": thrown(tooLong, { status: 400, code: "context_length_exceeded" }),
  "openai, named": thrown(tooLong, { name: "ContextOverflowError", lc_error_code: "CONTEXT_OVERFLOW" }),
  "anthropic, with its cause": thrown("prompt is too long", {
    name: "ContextOverflowError",
    lc_error_code: "CONTEXT_OVERFLOW",
    cause: Object.assign(new Error("prompt is too long"), { status: 400 }),
  }),
  "google, 400": thrown("The input token count exceeds the maximum number of tokens allowed.", {
    statusCode: 400,
  }),
  "bedrock, 400": thrown("Input is too long for requested model.", { $metadata: { httpStatusCode: 400 } }),
};

/** Errors of a provider or of an account, which say nothing of the question. */
export const passing: Readonly<Record<string, () => Error>> = {
  "429": thrown("429 Rate limit reached", { status: 429, lc_error_code: "MODEL_RATE_LIMIT" }),
  "500": thrown("500 The server had an error", { status: 500 }),
  "google, 503": thrown("The model is overloaded", { statusCode: 503 }),
  "bedrock, throttled": thrown("Too many requests", { $metadata: { httpStatusCode: 429 } }),
  ECONNREFUSED: thrown("Connection error.", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) }),
  "401": thrown("401 Incorrect API key provided", { status: 401 }),
  "google, key as 400": thrown("API key not valid. Please pass a valid API key.", { status: 400 }),
  "anthropic, credit as 400": thrown("400 Your credit balance is too low", { status: 400 }),
};
