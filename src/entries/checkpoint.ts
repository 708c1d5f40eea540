export { RedisSaver } from "../langgraph/checkpoint/redis-saver.js";
export type { RedisSaverOptions, RedisSaverSettings } from "../langgraph/checkpoint/thread-wire.js";
export { RedisStore } from "../langgraph/long-term/redis-store.js";
export type { RedisStoreOptions, ItemStoreSettings } from "../langgraph/long-term/redis-store.js";
