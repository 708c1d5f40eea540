import { Redis } from "ioredis";

interface StartedServer {
  readonly url: string;
  stop(): Promise<unknown>;
}

/** A server of a test's own, and a client on it. */
export interface OwnServer<Server extends StartedServer> {
  readonly server: Server;
  readonly client: Redis;
}

/** Starts a server before the first test, and stops it after the last; nothing can be read of the result before. */
export function ownServer<Server extends StartedServer>(start: () => Promise<Server>): OwnServer<Server> {
  const own: { server?: Server; client?: Redis } = {};
  beforeAll(async () => {
    own.server = await start();
    own.client = new Redis(own.server.url);
  });
  afterAll(async () => {
    own.client?.disconnect();
    await own.server?.stop();
  });
  return own as OwnServer<Server>;
}
