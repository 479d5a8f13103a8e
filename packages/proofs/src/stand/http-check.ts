/** Whether a page of a program on this machine says 200 within the time, as kubelet asks. */
export async function isOk(port: number, path: string, limitMs: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(limitMs),
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    // nobody listens, or nobody answers in time
    return false;
  }
}
