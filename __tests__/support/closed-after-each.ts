/** What a test opens and has to close. */
export type Closable = { disconnect(): unknown } | { close(): unknown } | { stop(): unknown };

/**
 * Closes after each test what it handed to the function that this returns, the last first, also where the test failed:
 * a client that is left open connects again for ever, and keeps Jest from ending.
 */
export function closedAfterEach(): <T extends Closable>(opened: T) => T {
  const all: Closable[] = [];
  afterEach(async () => {
    for (const opened of all.splice(0).reverse()) {
      await ("disconnect" in opened ? opened.disconnect() : "close" in opened ? opened.close() : opened.stop());
    }
  });
  return (opened) => {
    all.push(opened);
    return opened;
  };
}
