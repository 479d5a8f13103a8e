/** The status of a page of a program on this machine; 0 when nobody answers within the time. */
export async function httpStatus(port: number, path: string, limitMs: number): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(limitMs),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    // nobody listens, or nobody answers in time
    return 0;
  }
}

/** Whether a page says 200 within the time, as kubelet asks. */
export async function isOk(port: number, path: string, limitMs: number): Promise<boolean> {
  return (await httpStatus(port, path, limitMs)) === 200;
}
