import type { Operation } from "./operation.js";

const pages = 3;

/** Walks through the newest sessions of the owner, in short pages. */
export const listSessions: Operation = {
  name: "list-sessions",
  isRead: true,
  weight: ({ owner }) => (owner === undefined ? 0 : 0.3),
  run: async (lane, random) => {
    const owner = lane.session.owner!;
    await lane.ask({ do: "list", owner }, async () => {
      const listed: string[] = [];
      for (let page = 1, cursor: string | null | undefined; page <= pages && cursor !== null; page += 1) {
        const more = { limit: random.between(2, 8), cursor };
        const { sessions, next } = await lane.doors.memory.sessions.list({ owner, ...more });
        listed.push(...sessions.map(({ sessionId }) => sessionId));
        cursor = next;
      }
      return { listed };
    });
  },
};
