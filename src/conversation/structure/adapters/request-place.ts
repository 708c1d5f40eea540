import type { BaseMessage } from "@langchain/core/messages";
import { outputItems } from "../../messages/copies/output-items.js";
import { itemIdKeys } from "../../messages/copies/plain-answer.js";
import { speakerOf } from "../../messages/roles.js";
import { fieldsOf, stringIn } from "../../messages/values.js";
import type { Adapter, RequestPlace } from "./adapter.js";
import { documentNames } from "./documents.js";
import { ownToolParts } from "./own-tools.js";

/** Facts about messages that depend on the others of their request, by index. */
export type RequestPlaces = ReadonlyMap<number, RequestPlace>;

/** Finds facts about messages that depend on the others of their request, for adapters that ask for some. Linear. */
export const placesInRequest: Readonly<Partial<Record<Adapter, (messages: readonly BaseMessage[]) => RequestPlaces>>> =
  { "openai-responses": responsesPlaces, bedrock: documentNames };

/** OpenAI takes each item once. An answer comes again from a cache of answers, a fork or an import. */
function responsesPlaces(messages: readonly BaseMessage[]): RequestPlaces {
  const places = new Map<number, RequestPlace>();
  ownToolParts(messages).forEach((ownToolPart, index) => places.set(index, { ownToolPart }));
  const sent = new Set<string>();
  messages.forEach((message, index) => {
    const ids = speakerOf(message) === "assistant" ? itemIds(message) : [];
    if (ids.some((id) => sent.has(id))) {
      places.set(index, { ...places.get(index), isRepeated: true });
    }
    ids.forEach((id) => sent.add(id));
  });
  return places;
}

/** The ids of the items that ChatOpenAI sends for an answer. */
function itemIds({ id, additional_kwargs, response_metadata }: BaseMessage): readonly string[] {
  const kwargs = fieldsOf(additional_kwargs);
  const items = outputItems(fieldsOf(response_metadata)["output"])?.map((item) => item["id"]) ?? [
    ...(id?.startsWith("msg_") === true ? [id] : []),
    fieldsOf(kwargs["reasoning"])["id"],
    ...itemIdKeys.flatMap((key) => Object.values(fieldsOf(kwargs[key]))),
  ];
  return items.flatMap((value) => stringIn(value) ?? []);
}
