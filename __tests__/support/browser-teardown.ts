export default async function teardown(): Promise<void> {
  await globalThis.sharedBrowser?.close();
  await globalThis.sharedRedis?.stop();
}
