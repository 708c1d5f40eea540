export { RedisSaver } from "../langgraph/checkpoint/redis-saver.js";
export type { RedisSaverOptions, RedisSaverSettings } from "../langgraph/checkpoint/thread-wire.js";
export { RedisStore, type RedisStoreOptions, type ItemStoreSettings } from "../langgraph/long-term/redis-store.js";
