import type { Fields } from "../json.js";
import {
  type AnsweredRequest,
  argumentsOf,
  halves,
  type ProviderReply,
  type RenderedAnswer,
  signatureOf,
} from "./answer.js";

/** Gemini's answer. Calls have an id only where the script gives one, as with the service; Gemini 3 signs the first. */
export function answerAsGemini(reply: ProviderReply, request: AnsweredRequest): RenderedAnswer {
  const parts = partsOf(reply, request);
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 };
  const answer = (some: readonly Fields[], finishReason?: string) => ({
    candidates: [
      { index: 0, content: { role: "model", parts: some }, ...(finishReason === undefined ? {} : { finishReason }) },
    ],
    usageMetadata,
    modelVersion: request.model,
    responseId: `gemini-${request.count}`,
  });
  const pieces = parts.flatMap(piecesOf);
  return {
    whole: answer(parts, "STOP"),
    events: pieces.map((part, index) => ({ data: answer([part], index === pieces.length - 1 ? "STOP" : undefined) })),
  };
}

function partsOf(reply: ProviderReply, request: AnsweredRequest): Fields[] {
  const { content = "", thinking, search, image, toolCalls = [] } = reply;
  const isSigned = thinking !== undefined || request.model.includes("gemini-3");
  const thoughtSignature = signatureOf("gemini", request);
  const signed = isSigned ? { thoughtSignature } : {};
  if (isSigned) {
    request.memory.noteProof(thoughtSignature);
  }
  const parts: Fields[] = [];
  if (thinking !== undefined) {
    parts.push({ text: thinking, thought: true });
  }
  if (search !== undefined) {
    parts.push({ executableCode: { language: "PYTHON", code: `print(${JSON.stringify(search)})` } });
    parts.push({ codeExecutionResult: { outcome: "OUTCOME_OK", output: "found" } });
  }
  if (content !== "") {
    parts.push({ text: content, ...(toolCalls.length === 0 && image === undefined ? signed : {}) });
  }
  if (image !== undefined) {
    parts.push({ inlineData: { mimeType: "image/png", data: image }, ...(toolCalls.length === 0 ? signed : {}) });
  }
  toolCalls.forEach(({ id, name, arguments: given }, place) => {
    const args = argumentsOf(given).input;
    parts.push({
      functionCall: { name, args, ...(id === undefined ? {} : { id }) },
      ...(place === 0 ? signed : {}),
    });
  });
  return parts;
}

/** Only plain text comes in pieces; its signature comes with the last one. */
function piecesOf(part: Fields): Fields[] {
  const { text, thoughtSignature, ...rest } = part;
  if (typeof text !== "string") {
    return [part];
  }
  const pieces = halves(text);
  return pieces.map((piece, index) => ({
    ...rest,
    text: piece,
    ...(thoughtSignature !== undefined && index === pieces.length - 1 ? { thoughtSignature } : {}),
  }));
}
