/** The environment variable that holds the keys of encrypted sessions. */
export const keysVariable = "LANGCHAIN_REDIS_MEMORY_KEYS";
