export default async function teardown(): Promise<void> {
  globalThis.commandHostProgram?.remove();
  await globalThis.sharedRedis?.stop();
}
