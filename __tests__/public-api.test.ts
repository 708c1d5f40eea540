import { existsSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { entries } from "./support/entries.js";
import { signatureGaps } from "./support/public-signatures.js";
import { sourceProgram, withoutAlias } from "./support/source-program.js";

/**
 * What users can import, by entry: values (classes and functions) and types, in alphabetical order. A change here is a
 * change for users, so it goes into CHANGELOG.md as well. An entry whose file does not exist has an empty list.
 */
const publicNames: Readonly<Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>> =
  {
    "src/index.ts": {
      values: [
        "BudgetError",
        "ChatHistoryReducer",
        "ChatHistorySummarizationReducer",
        "ChatHistoryTokenReducer",
        "ChatHistoryToolResultReducer",
        "ChatHistoryTruncationReducer",
        "ChatMemoryModule",
        "ConfigurationError",
        "ConflictError",
        "HistoryManager",
        "InMemorySessionStore",
        "MemoryError",
        "MessageHistory",
        "RecordError",
        "RedisChatMemory",
        "RedisChatMessageHistory",
        "RedisSessionStore",
        "RedisToolInvocationHistory",
        "ReferenceManager",
        "StoreError",
        "StructureError",
        "SummaryError",
        "ToolInvocationHistory",
        "approximateCounter",
        "assertConversation",
        "builtInProfiles",
        "conversationGuard",
        "countMessages",
        "modelCounter",
        "pipeReducers",
        "readLegacyMessages",
        "repairConversation",
        "sanitizeConversation",
        "simulateReducers",
        "structureRules",
        "summaryMarkOf",
        "tiktokenCounter",
        "validateConversation",
        "withRedisMemory",
      ],
      types: [
        "AgentLike",
        "AppendOptions",
        "AppendOutcome",
        "ApproximateCounterOptions",
        "AudioPart",
        "BeforeStore",
        "BuiltInProfile",
        "CallBlockForm",
        "CallIdForm",
        "ChainInput",
        "ChatHistoryLike",
        "ChatHistorySummarizationReducerOptions",
        "ChatHistoryTokenReducerOptions",
        "ChatHistoryToolResultReducerOptions",
        "ChatHistoryTruncationReducerOptions",
        "ChatMemoryModuleOptions",
        "Chunk",
        "Clock",
        "CommandBatch",
        "ConnectionSource",
        "ContentPart",
        "ConversationGuardOptions",
        "CountingModel",
        "CustomToolCall",
        "DroppedPart",
        "EncodingName",
        "ExactlyOne",
        "FilePart",
        "FittedWindow",
        "FunctionToolCall",
        "HistoryManagerOptions",
        "ImageFilePart",
        "ImagePart",
        "InMemorySessionStoreOptions",
        "ListReader",
        "LooseInput",
        "MemoryErrorDetails",
        "MemoryEvent",
        "MemoryEventHandler",
        "MemoryInput",
        "MemorySettings",
        "MessageHistoryOptions",
        "MessageNotes",
        "MessageRole",
        "MessageToolCall",
        "MessagesRunnable",
        "ModelCallRequest",
        "NameForm",
        "NamedReducer",
        "NewToolInvocation",
        "OpenAIMessage",
        "OpenAIRequestMessage",
        "OutcomeReducer",
        "PromptPrices",
        "ReadLegacyOptions",
        "RedisChatMemoryOptions",
        "RedisChatMessageHistoryOptions",
        "RedisClient",
        "RedisSessionStoreOptions",
        "RedisStoreSettings",
        "RedisToolInvocationHistoryOptions",
        "ReducerFunction",
        "ReducerInput",
        "ReducerLike",
        "ReducerSimulation",
        "ReductionOutcome",
        "ReductionReason",
        "RefusalPart",
        "RemoveFromText",
        "RepairAction",
        "RepairChoices",
        "RepairOptions",
        "RepairedConversation",
        "RequestAssistantMessage",
        "RequestInstruction",
        "RequestToolMessage",
        "RequestUserMessage",
        "RetrieveOptions",
        "Retrieved",
        "Round",
        "RoundFormat",
        "RoundSource",
        "SanitizeChange",
        "SanitizeOptions",
        "SanitizedConversation",
        "SectionOptions",
        "SessionIdOption",
        "SessionStore",
        "SideChanges",
        "SimulatedCall",
        "SimulationOptions",
        "SourceReference",
        "Speaker",
        "StoreErrorCode",
        "StoreOptions",
        "StoreSource",
        "StructureIssue",
        "StructureOptions",
        "StructureProfile",
        "StructurePurpose",
        "StructureRepair",
        "StructureRule",
        "StructureSeverity",
        "SummaryMark",
        "SummaryModel",
        "SummaryRole",
        "SystemMessages",
        "TextPart",
        "TextRemoval",
        "TiktokenCounter",
        "TiktokenCounterOptions",
        "TokenBudgetOptions",
        "TokenCounter",
        "ToolCallRequest",
        "ToolCallResponse",
        "ToolDefinitionLike",
        "ToolInvocation",
        "ToolInvocationFilter",
        "ToolInvocationHistoryOptions",
        "ToolStatus",
        "TurnOutput",
        "TurnWrite",
        "UploadedContent",
        "UserVisibleOptions",
        "ViewSize",
        "WindowOutcome",
        "WindowSection",
        "WithRedisMemoryOptions",
      ],
    },
    "src/langchain/agent.ts": {
      values: ["redisMemoryMiddleware"],
      types: ["AgentRuntime", "ContextOf", "RedisMemoryMiddlewareOptions"],
    },
    "src/store/index.ts": {
      values: [
        "InMemorySessionStore",
        "applySide",
        "beginsRound",
        "capabilitiesOf",
        "checkCommit",
        "checkInteger",
        "checkPage",
        "checkRewind",
        "checkSessionId",
        "checkSessionStore",
        "checkSideWrite",
        "closed",
        "damaged",
        "decideAppend",
        "emptyPage",
        "emptyRounds",
        "emptyView",
        "exceedsLimit",
        "hasCapability",
        "lastRounds",
        "marksIn",
        "outOfRange",
        "planAppend",
        "planReplaceTail",
        "randomToken",
        "sideWithPrefix",
        "totalAfterAppend",
        "totalAfterCommit",
      ],
      types: [
        "AppendDecision",
        "AppendPlan",
        "AppendRequest",
        "AppendResult",
        "AppendTarget",
        "CapabilityMethods",
        "CommitRequest",
        "CompleteSessionStore",
        "IdentifiedRecord",
        "IdentifyRecord",
        "InMemorySessionStoreOptions",
        "LeaseOptions",
        "LogPage",
        "NewRecord",
        "PlannedAppend",
        "ReadViewOptions",
        "RecordIdentity",
        "ReplaceTailRequest",
        "RewindRequest",
        "SessionStore",
        "SessionStoreCore",
        "SessionView",
        "SideChanges",
        "SideWrite",
        "SizeLimits",
        "StoreCapability",
        "StoreWith",
        "StoredRounds",
        "StoredTurn",
        "TokenTotal",
        "TurnClaim",
        "TurnMark",
        "TurnOfRecord",
        "TurnRemainder",
        "ViewLimit",
      ],
    },
    "src/otel/index.ts": { values: ["openTelemetryHandler"], types: ["OpenTelemetryHandlerOptions"] },
    "src/testing/index.ts": {
      values: ["checkChatCompletionRequest", "sessionStoreContract", "startOpenAIServer"],
      types: [
        "ChatCompletionRefusal",
        "ContractCase",
        "OpenAIServer",
        "OpenAIServerOptions",
        "ReceivedRequest",
        "ScriptedCall",
        "ScriptedReply",
        "StoreSetup",
      ],
    },
  };

const root = join(__dirname, "..");
const files = Object.keys(publicNames).filter((entry) => existsSync(join(root, entry)));
const program = sourceProgram(files.map((entry) => join(root, entry)));

describe("the public names", () => {
  it("are listed here for every entry", () => {
    expect(Object.keys(publicNames).sort()).toEqual(entries.map((entry) => `src/${entry}`).sort());
  });

  it("include every type that a public signature names", () => {
    const paths = files.map((entry) => join(root, entry));
    expect(signatureGaps(program, join(root, "src"), paths)).toEqual([]);
  });

  it.each(Object.keys(publicNames))("of %s are those listed here", (entry) => {
    expect(files.includes(entry) ? exportedNames(entry) : { values: [], types: [] }).toEqual(publicNames[entry]);
  });

  it.each(files)("of %s are the same at run time", async (entry) => {
    const loaded = (await import(join(root, entry))) as object;
    expect(Object.keys(loaded).sort()).toEqual(publicNames[entry]?.values);
  });
});

function exportedNames(entry: string): { values: string[]; types: string[] } {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, entry))!)!;
  const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
  const isValue = (symbol: ts.Symbol) =>
    (withoutAlias(checker, symbol).flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
  return {
    values: symbols.filter(isValue).map(({ name }) => name),
    types: symbols.filter((symbol) => !isValue(symbol)).map(({ name }) => name),
  };
}

/** True for `export type { A }`, which gives users the type of a class only. */
function isTypeOnly(symbol: ts.Symbol): boolean {
  return (
    symbol.declarations?.some(
      (declaration) =>
        ts.isExportSpecifier(declaration) && (declaration.isTypeOnly || declaration.parent.parent.isTypeOnly),
    ) ?? false
  );
}
