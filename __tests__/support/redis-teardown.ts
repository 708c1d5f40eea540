export default async function teardown(): Promise<void> {
  const { commandHostProgram, sharedRedis } = globalThis;
  globalThis.commandHostProgram = globalThis.sharedRedis = undefined;
  commandHostProgram?.remove();
  await sharedRedis?.stop();
}
