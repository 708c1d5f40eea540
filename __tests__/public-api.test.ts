import { existsSync, readFileSync } from "node:fs";
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
    "src/entries/index.ts": {
      values: [
        "BudgetError",
        "ChatHistoryReducer",
        "ChatHistoryRoundReducer",
        "ChatHistorySummarizationReducer",
        "ChatHistoryTokenReducer",
        "ChatHistoryToolResultReducer",
        "ChatHistoryTruncationReducer",
        "ChatMemoryModule",
        "ConfigurationError",
        "ConflictError",
        "EncryptionError",
        "InMemorySessionStore",
        "MemoryError",
        "RecordError",
        "RedisChatMemory",
        "RedisChatMessageHistory",
        "RedisSessionStore",
        "StoreError",
        "StructureError",
        "SummaryError",
        "approximateCounter",
        "contextWindow",
        "countMessages",
        "httpStatusOf",
        "modelCounter",
        "pipeReducers",
        "promptCacheMarks",
        "sessionConfig",
        "simulateReducers",
        "summaryMarkOf",
        "tiktokenCounter",
        "withRedisMemory",
      ],
      types: [
        "AppendOptions",
        "AppendOutcome",
        "ApproximateCounterOptions",
        "BeforeStore",
        "CacheTtl",
        "ChainInput",
        "ChatHistoryRoundReducerOptions",
        "ChatHistorySummarizationReducerOptions",
        "ChatHistoryTokenReducerOptions",
        "ChatHistoryToolResultReducerOptions",
        "ChatHistoryTruncationReducerOptions",
        "ChatMemoryModuleOptions",
        "ConnectionSource",
        "ContextWindowOptions",
        "CountingModel",
        "CutAt",
        "EncodingName",
        "EncryptionKey",
        "EncryptionKeySource",
        "EncryptionKeys",
        "EncryptionOptions",
        "ForkOptions",
        "HistoryIdentity",
        "HistoryStats",
        "InMemorySessionStoreOptions",
        "MemoryErrorDetails",
        "MemoryEvent",
        "MemoryEventHandler",
        "MemorySettings",
        "MemoryTurn",
        "MessagePage",
        "MessagesRunnable",
        "NamedReducer",
        "PageItem",
        "PageOptions",
        "PromptCacheMarksOptions",
        "PromptPrices",
        "RedisChatMemoryOptions",
        "RedisChatMessageHistoryOptions",
        "RedisClient",
        "RedisSessionStoreOptions",
        "RedisStoreSettings",
        "ReducerFunction",
        "ReducerInput",
        "ReducerLike",
        "ReducerRequest",
        "ReducerSimulation",
        "ReductionOutcome",
        "ReductionReason",
        "ReductionSize",
        "RetrieveOptions",
        "Round",
        "RoundFormat",
        "RoundSource",
        "SectionOptions",
        "SessionConfig",
        "SessionFields",
        "SessionIdOption",
        "SessionMetadata",
        "SessionNames",
        "SessionStore",
        "SideChanges",
        "SimulationOptions",
        "StoreErrorCode",
        "StoreSettings",
        "StoreSource",
        "StoredReduction",
        "SummaryMark",
        "SummaryModel",
        "SummaryRole",
        "SystemMessages",
        "TTL",
        "TiktokenCounter",
        "TiktokenCounterOptions",
        "TokenBudgetOptions",
        "TokenCounter",
        "ToolDefinitionLike",
        "TurnWrite",
        "ViewSize",
        "WindowTrigger",
        "WithRedisMemoryOptions",
        "WithTurnOptions",
      ],
    },
    "src/entries/sessions.ts": {
      values: ["MemorySessions", "readLegacyMessages"],
      types: [
        "FoundSession",
        "ListReader",
        "ListedSession",
        "ListsProgress",
        "OwnerErasure",
        "OwnerExportOptions",
        "ReadLegacyOptions",
        "ReencryptOptions",
        "ReencryptProgress",
        "ReindexOptions",
        "SearchMatch",
        "SearchedRole",
        "SessionAccess",
        "SessionErasureOptions",
        "SessionImportOptions",
        "SessionImportProblem",
        "SessionImportSummary",
        "SessionList",
        "SessionListOptions",
        "SessionProblem",
        "SessionSearch",
        "SessionSearchOptions",
        "StoredSession",
        "UsageSum",
      ],
    },
    "src/entries/structure.ts": {
      values: [
        "assertConversation",
        "builtInProfiles",
        "conversationGuard",
        "editMessage",
        "profileOf",
        "redact",
        "repairConversation",
        "sanitizeConversation",
        "stampAnswer",
        "structureRules",
        "toModel",
        "validateConversation",
        "walkLedger",
        "wired",
      ],
      types: [
        "Adapter",
        "AnswerPrefix",
        "BuiltInProfile",
        "Call",
        "CallChange",
        "CallIdForm",
        "ConversationGuardOptions",
        "DroppedCause",
        "LedgerWalk",
        "MessageEdit",
        "ModelProfile",
        "ModelWindow",
        "NameForm",
        "PrefixParts",
        "Redaction",
        "RepairAction",
        "RepairChoices",
        "RepairOptions",
        "RepairedConversation",
        "SanitizeChange",
        "SanitizeOptions",
        "SanitizedConversation",
        "Speaker",
        "StructureIssue",
        "StructureOptions",
        "StructureProfile",
        "StructurePurpose",
        "StructureRepair",
        "StructureRule",
        "StructureSeverity",
        "ToModelOptions",
        "ToModelResult",
        "WiredModelOptions",
      ],
    },
    "src/entries/openai.ts": {
      values: ["MessageHistory", "RedisToolInvocationHistory", "ReferenceManager", "ToolInvocationHistory"],
      types: [
        "AudioPart",
        "ChatHistoryLike",
        "Chunk",
        "Clock",
        "ContentPart",
        "CustomToolCall",
        "FilePart",
        "FunctionToolCall",
        "ImageFilePart",
        "ImagePart",
        "MessageHistoryOptions",
        "MessageNotes",
        "MessageRole",
        "MessageToolCall",
        "NewToolInvocation",
        "OpenAIMessage",
        "OpenAIRequestMessage",
        "RedisToolInvocationHistoryOptions",
        "RefusalPart",
        "RequestAssistantMessage",
        "RequestInstruction",
        "RequestToolMessage",
        "RequestUserMessage",
        "ResponsesInputCall",
        "ResponsesInputItem",
        "ResponsesInputMessage",
        "ResponsesInputPart",
        "ResponsesInputResult",
        "SimulatedCall",
        "SourceReference",
        "TextPart",
        "ToolInvocation",
        "ToolInvocationFilter",
        "ToolInvocationHistoryOptions",
        "ToolStatus",
      ],
    },
    "src/entries/tool-loop.ts": {
      values: ["HistoryManager", "readEarlierTool"],
      types: [
        "FittedWindow",
        "HistoryManagerOptions",
        "ModelCallRequest",
        "ReadEarlierOptions",
        "RemoveFromText",
        "TextRemoval",
        "ToolCallRequest",
        "ToolCallResponse",
        "UploadedContent",
        "UserVisibleOptions",
        "WindowOutcome",
      ],
    },
    "src/entries/agent.ts": {
      values: ["redisMemoryMiddleware", "steeringMiddleware"],
      types: ["AgentRuntime", "RedisMemoryMiddlewareOptions", "SteeringMiddlewareOptions"],
    },
    "src/entries/checkpoint.ts": {
      values: ["RedisSaver", "RedisStore"],
      types: ["ChannelHistory", "ItemStoreSettings", "RedisSaverOptions", "RedisSaverSettings", "RedisStoreOptions"],
    },
    "src/entries/runs.ts": {
      values: ["redisRuns", "sse"],
      types: [
        "ActiveRun",
        "EventStreamOptions",
        "JoinOptions",
        "RedisRuns",
        "RedisRunsOptions",
        "Run",
        "RunAccess",
        "RunEnd",
        "RunEndState",
        "RunItem",
        "RunWork",
        "ServerSentEvent",
        "ServerSentEvents",
        "ServerSentEventsOptions",
        "StartOptions",
        "StopOptions",
      ],
    },
    "src/entries/otel.ts": { values: ["openTelemetryHandler"], types: ["OpenTelemetryHandlerOptions"] },
    "testing/index.ts": {
      values: [
        "ProviderMemory",
        "captureWire",
        "checkChatCompletionRequest",
        "checkWire",
        "startOpenAIServer",
        "startProviderServer",
      ],
      types: [
        "CaptureWireOptions",
        "CapturedWire",
        "ChatCompletionRefusal",
        "CheckWireOptions",
        "OpenAIServer",
        "OpenAIServerOptions",
        "ProviderReply",
        "ProviderRequest",
        "ProviderServer",
        "ProviderServerOptions",
        "ReceivedRequest",
        "ScriptedCall",
        "ScriptedReply",
        "WireKind",
        "WireModel",
        "WireViolation",
      ],
    },
  };

const root = join(__dirname, "..");
/** Types that public signatures name and no entry exports, each with the reason. TypeDoc reads the same list. */
const innerTypes: readonly { readonly reason: string; readonly types: readonly string[] }[] = JSON.parse(
  readFileSync(join(root, "tools/etc/inner-types.json"), "utf8"),
);
const files = Object.keys(publicNames).filter((entry) => existsSync(join(root, entry)));
const program = sourceProgram(files.map((entry) => join(root, entry)));

describe("the public names", () => {
  it("are listed here for every entry", () => {
    expect(Object.keys(publicNames).sort()).toEqual([...entries].sort());
  });

  it("include every type that a public signature names", () => {
    const paths = files.map((entry) => join(root, entry));
    expect(
      signatureGaps(
        program,
        root,
        paths,
        innerTypes.flatMap(({ types }) => types),
      ),
    ).toEqual([]);
  });

  it("leave out types only with a reason", () => {
    expect(innerTypes.filter(({ reason }) => !/^[A-Z].{20,}\.$/.test(reason))).toEqual([]);
  });

  it("are few enough to be read at a glance", () => {
    const countOf = (entry: string) => Object.values(publicNames[entry]!).flat().length;
    expect(countOf("src/entries/index.ts")).toBeLessThanOrEqual(114);
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
