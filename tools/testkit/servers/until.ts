/** Waits until something holds; answers that fail count as no. */
export async function until(what: string, holds: () => Promise<boolean>, patienceMs = 120_000): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end;) {
    if (await holds().catch(() => false)) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`The servers did not get there within ${patienceMs / 1_000} s: ${what}.`);
}
