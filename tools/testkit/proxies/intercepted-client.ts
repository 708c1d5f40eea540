import type { Redis } from "ioredis";

/** Sends a command, of which it sees the arguments, or a batch; returns the reply. */
export type Intercept = <T>(send: () => Promise<T>, args: readonly unknown[]) => Promise<T>;

/** The same client, with a function around all that the store sends through it. */
export function interceptedClient(client: Redis, around: Intercept): Redis {
  return new Proxy(client, {
    get(target, name) {
      if (name === "call") {
        return (verb: string, args: string[]) => around(() => target.call(verb, args), args);
      }
      if (name === "multi" || name === "pipeline") {
        return (commands: never) => ({ exec: () => around(() => target[name](commands).exec(), []) });
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}
