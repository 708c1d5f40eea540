export { decodeRecord, reviveMessage, type DecodedRecord } from "./decode-record.js";
export { digestMessage, encodeMessage, type EncodedRecord, type EncodeOptions } from "./encode-message.js";
export { decodeHead, encodeHead } from "./head.js";
export { identifyRecord } from "./identify-record.js";
export { messageIdOf, MessageIds, type TurnPlace } from "./message-ids.js";
export { readLegacyMessages, type ListReader, type ReadLegacyOptions } from "./read-legacy-messages.js";
