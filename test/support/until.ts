/** Waits until something holds; fails the test when it does not come about within `limitMs`, which is generous. */
export async function until(holds: () => Promise<boolean>, limitMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`did not come about within ${limitMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
