import { Findings, type RuleSources, type WireViolation } from "../findings.js";
import { type Fields, fieldsIn, isObject, listIn, textIn } from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";

const docs = "https://ai.google.dev/gemini-api/docs";

const sources = {
  "no-contents": `${docs}/text-generation`,
  role: `${docs}/text-generation`,
  "last-message": `${docs}/text-generation`,
  "empty-parts": "https://github.com/vercel/ai/issues/3775",
  "part-form": "https://github.com/router-for-me/CLIProxyAPI/issues/1292",
  "unknown-name": "https://github.com/google-gemini/gemini-cli/issues/13972",
  "tool-name": `${docs}/function-calling`,
  "call-order": `${docs}/function-calling`,
  "response-order": `${docs}/function-calling`,
  "response-count": "https://github.com/google-gemini/gemini-cli/issues/3814",
  "response-name": `${docs}/function-calling`,
  "missing-signature": `${docs}/thought-signatures`,
  "foreign-signature": "https://github.com/google-gemini/gemini-cli/issues/13467",
} as const satisfies RuleSources<string>;

type GeminiFindings = Findings<keyof typeof sources>;

interface Place {
  readonly index: number;
  readonly contents: readonly Fields[];
  readonly findings: GeminiFindings;
}

/** The refusals of Gemini's generateContent for the body of a request. */
export function checkGemini(
  body: Fields,
  { memory, model }: { readonly memory: ProviderMemory | undefined; readonly model: string },
): readonly WireViolation[] {
  const findings: GeminiFindings = new Findings("gemini", sources);
  const contents = listIn(body["contents"]);
  if (contents.length === 0) {
    findings.add("no-contents", "contents", "* GenerateContentRequest.contents: contents is not specified");
  }
  contents.forEach((content, index) => checkContent(content, { index, contents, findings }));
  checkCalls(contents, findings);
  checkSignatures(contents, { memory, model, findings });
  if (contents.at(-1)?.["role"] === "model") {
    const text = "Please ensure that single turn requests end with a user role or the role field is empty.";
    findings.add("last-message", `contents[${contents.length - 1}].role`, text);
  }
  return findings.violations;
}

const dataOf = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
];

/** The fields of a part besides its data, and those of each kind of data. */
const fieldsOfPart = new Set([...dataOf, "thought", "thoughtSignature", "videoMetadata", "mediaResolution"]);
const fieldsOfData: Readonly<Record<string, readonly string[]>> = {
  inlineData: ["mimeType", "data", "displayName"],
  fileData: ["mimeType", "fileUri", "displayName"],
  functionCall: ["id", "name", "args"],
  functionResponse: ["id", "name", "response", "parts", "willContinue", "scheduling"],
  executableCode: ["id", "language", "code"],
  codeExecutionResult: ["id", "outcome", "output"],
};

/** Google's JSON takes no field that it does not know. */
function checkFields(part: Fields, path: string, findings: GeminiFindings): void {
  const unknown = Object.keys(part).filter((key) => !fieldsOfPart.has(key));
  const inData = Object.entries(fieldsOfData).flatMap(([kind, known]) =>
    Object.keys(fieldsIn(part[kind])).filter((key) => !known.includes(key)),
  );
  for (const key of [...unknown, ...inData]) {
    const text = `Invalid JSON payload received. Unknown name "${key}" at '${path}': Cannot find field.`;
    findings.add("unknown-name", path, text);
  }
}

function checkContent({ role, parts }: Fields, { index, findings }: Place): void {
  const path = `contents[${index}]`;
  if (role !== "user" && role !== "model" && role !== "function") {
    findings.add("role", `${path}.role`, "Please use a valid role: user, model.");
  }
  if (listIn(parts).length === 0) {
    const text = `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`;
    findings.add("empty-parts", `${path}.parts`, text);
  }
  listIn(parts).forEach((part, at) => {
    const name = `GenerateContentRequest.${path}.parts[${at}]`;
    const given = dataOf.filter((key) => part[key] !== undefined);
    if (given.length !== 1 || part["text"] === "") {
      const text = `* ${name}.data: required oneof field 'data' must have one initialized field`;
      findings.add("part-form", `${path}.parts[${at}]`, text);
    }
    checkFields(part, `${path}.parts[${at}]`, findings);
    for (const kind of ["functionCall", "functionResponse"] as const) {
      const tool = part[kind] === undefined ? undefined : textIn(fieldsIn(part[kind])["name"]);
      if (part[kind] !== undefined && (tool === undefined || !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(tool))) {
        findings.add("tool-name", `${path}.parts[${at}].${kind}.name`, `* ${name}.${kind}.name: Invalid function name`);
      }
    }
    if (part["functionResponse"] !== undefined && !isObject(fieldsIn(part["functionResponse"])["response"])) {
      findings.add("part-form", `${path}.parts[${at}]`, `* ${name}.function_response.response: required`);
    }
  });
}

/** Answers to one turn of calls may stand in neighbouring contents, as ChatGoogleGenerativeAI sends them. */
function checkCalls(contents: readonly Fields[], findings: GeminiFindings): void {
  let open: readonly Fields[] = [];
  contents.forEach((content, index) => {
    const calls = partsOf(content, "functionCall");
    const responses = partsOf(content, "functionResponse");
    const previous = contents[index - 1];
    if (calls.length > 0 && (previous === undefined || previous["role"] === "model")) {
      const text =
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
      findings.add("call-order", `contents[${index}]`, text);
    }
    if (responses.length > 0 && open.length === 0) {
      const text = "Please ensure that function response turn comes immediately after a function call turn.";
      findings.add("response-order", `contents[${index}]`, text);
    }
    if (responses.length === 0) {
      checkCount(open.length === 0, { index: index - 1, findings });
      open = calls;
    } else {
      open = takeResponses(open, responses, { index, findings });
    }
  });
  checkCount(open.length === 0, { index: contents.length - 1, findings });
}

function checkCount(isEqual: boolean, { index, findings }: Omit<Place, "contents">): void {
  if (!isEqual) {
    const text =
      "Please ensure that the number of function response parts is equal to the number of function call parts " +
      "of the function call turn.";
    findings.add("response-count", `contents[${index}]`, text);
  }
}

function takeResponses(
  open: readonly Fields[],
  responses: readonly Fields[],
  { index, findings }: Omit<Place, "contents">,
): readonly Fields[] {
  const left = [...open];
  for (const { name } of responses) {
    const at = left.findIndex((call) => call["name"] === name);
    if (at < 0 && open.length > 0) {
      const text =
        left.length === 0
          ? "There are more function responses than function calls."
          : "A function response names no function that was called.";
      findings.add(left.length === 0 ? "response-count" : "response-name", `contents[${index}]`, text);
    }
    left.splice(Math.max(at, 0), 1);
  }
  return left;
}

/** Google's placeholders that skip the check, as its documentation names them. */
const skipsCheck = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/** The signature of a real answer that ChatGoogleGenerativeAI sends where it has none, by its beginning. */
const adaptersSignature = "ErYCCrMCAdHtim9kOoOkrPiCNVsmlpMIKd7ZMxgiFbVQOkgp7nlLcDMzVsZwIzvuT7nQROivoXA72ccC2lSDvR0G";

function checkSignatures(
  contents: readonly Fields[],
  {
    memory,
    model,
    findings,
  }: Omit<Place, "index" | "contents"> & { readonly memory: ProviderMemory | undefined; readonly model: string },
): void {
  const turn = contents.findLastIndex(
    (content) => content["role"] === "user" && partsOf(content, "functionResponse").length === 0,
  );
  contents.forEach(({ parts }, index) => {
    const all = listIn(parts);
    const first = all.findIndex((part) => part["functionCall"] !== undefined);
    if (first >= 0 && index > turn && model.includes("gemini-3") && all[first]!["thoughtSignature"] === undefined) {
      const text = "Function call is missing a thought_signature in functionCall parts.";
      findings.add("missing-signature", `contents[${index}].parts[${first}]`, text);
    }
    all.forEach((part, at) => {
      const signature = part["thoughtSignature"];
      if (signature !== undefined && !isGenuine(signature, memory)) {
        findings.add("foreign-signature", `contents[${index}].parts[${at}]`, "Corrupted thought signature.");
      }
    });
  });
}

function isGenuine(signature: unknown, memory: ProviderMemory | undefined): boolean {
  if (typeof signature !== "string" || signature === "") {
    return false;
  }
  return (
    skipsCheck.includes(signature) ||
    signature.startsWith(adaptersSignature) ||
    (memory === undefined ? /^[A-Za-z0-9+/_-]+=*$/.test(signature) : memory.knows(signature))
  );
}

function partsOf(content: Fields, kind: "functionCall" | "functionResponse"): readonly Fields[] {
  return listIn(content["parts"]).flatMap((part) => (part[kind] === undefined ? [] : [fieldsIn(part[kind])]));
}
