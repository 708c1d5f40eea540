import { existsSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

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
        "structureRules",
        "summaryMarkOf",
        "tiktokenCounter",
        "validateConversation",
        "withRedisMemory",
      ],
      types: [
        "AppendOptions",
        "AppendOutcome",
        "AppendRequest",
        "AppendResult",
        "ApproximateCounterOptions",
        "ChainInput",
        "ChatHistorySummarizationReducerOptions",
        "ChatHistoryTokenReducerOptions",
        "ChatHistoryToolResultReducerOptions",
        "ChatHistoryTruncationReducerOptions",
        "ChatMemoryModuleOptions",
        "Chunk",
        "CommitRequest",
        "ContentPart",
        "ConversationGuardOptions",
        "CountingModel",
        "CustomToolCall",
        "DroppedPart",
        "EncodingName",
        "FittedWindow",
        "FunctionToolCall",
        "HistoryManagerOptions",
        "InMemorySessionStoreOptions",
        "ListReader",
        "LogPage",
        "MemoryEvent",
        "MemoryEventHandler",
        "MessageHistoryOptions",
        "MessageNotes",
        "MessageRole",
        "MessageToolCall",
        "MessagesRunnable",
        "ModelCallRequest",
        "NewRecord",
        "NewToolInvocation",
        "OpenAIMessage",
        "OpenAIRequestMessage",
        "ReadLegacyOptions",
        "ReadViewOptions",
        "RecordIdentity",
        "RedisChatMemoryOptions",
        "RedisChatMessageHistoryOptions",
        "RedisClient",
        "RedisSessionStoreOptions",
        "RedisToolInvocationHistoryOptions",
        "ReducerInput",
        "ReducerLike",
        "ReductionOutcome",
        "ReductionReason",
        "RemoveFromText",
        "RepairOptions",
        "RepairedConversation",
        "RetrieveOptions",
        "RewindRequest",
        "Round",
        "RoundFormat",
        "RoundSource",
        "SanitizeOptions",
        "SanitizedConversation",
        "SessionStore",
        "SessionView",
        "SideChanges",
        "SideWrite",
        "SimulatedCall",
        "SourceReference",
        "StoreErrorCode",
        "StoredRounds",
        "StructureIssue",
        "StructureOptions",
        "StructureProfile",
        "StructurePurpose",
        "StructureRepair",
        "StructureSeverity",
        "SummaryMark",
        "SummaryModel",
        "SummaryRole",
        "SystemMessages",
        "TextRemoval",
        "TiktokenCounter",
        "TiktokenCounterOptions",
        "TokenCounter",
        "ToolCallRequest",
        "ToolCallResponse",
        "ToolInvocation",
        "ToolInvocationFilter",
        "ToolInvocationHistoryOptions",
        "ToolStatus",
        "UploadedContent",
        "UserVisibleOptions",
        "ViewLimit",
        "ViewSize",
        "WindowOutcome",
        "WindowSection",
        "WithRedisMemoryOptions",
      ],
    },
    "src/langchain/agent.ts": {
      values: ["redisMemoryMiddleware"],
      types: ["AgentRuntime", "RedisMemoryMiddlewareOptions"],
    },
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
const program = createProgram(files.map((entry) => join(root, entry)));

describe("the public names", () => {
  it.each(Object.keys(publicNames))("of %s are those listed here", (entry) => {
    expect(files.includes(entry) ? exportedNames(entry) : { values: [], types: [] }).toEqual(publicNames[entry]);
  });

  it.each(files)("of %s are the same at run time", async (entry) => {
    const loaded = (await import(join(root, entry))) as object;
    expect(Object.keys(loaded).sort()).toEqual(publicNames[entry]?.values);
  });
});

/** Reads the sources of this package only: the names do not depend on others, and reading those takes seconds. */
function createProgram(rootNames: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: [],
    noLib: true,
  };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, file) =>
    literals.map(({ text }) =>
      text.startsWith(".") ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    );
  return ts.createProgram({ rootNames, options, host });
}

function exportedNames(entry: string): { values: string[]; types: string[] } {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, entry))!)!;
  const symbols = checker.getExportsOfModule(module).sort((a, b) => (a.name < b.name ? -1 : 1));
  const isValue = (symbol: ts.Symbol) =>
    (resolve(checker, symbol).flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
  return {
    values: symbols.filter(isValue).map(({ name }) => name),
    types: symbols.filter((symbol) => !isValue(symbol)).map(({ name }) => name),
  };
}

function resolve(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
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
