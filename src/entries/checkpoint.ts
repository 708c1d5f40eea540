export { RedisSaver } from "../checkpoint/redis-saver.js";
export type { RedisSaverOptions, RedisSaverSettings } from "../checkpoint/saver-options.js";
export type { ChannelHistory } from "../checkpoint/delta-history.js";
export { RedisStore } from "../long-term/redis-store.js";
export type { RedisStoreOptions, ItemStoreSettings } from "../long-term/store-options.js";
