/** The status of a page of a program on this machine; 0 without an answer within `limitMs`. */
export async function httpStatus(port: number, path: string, limitMs: number): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(limitMs),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    // no server listens, or none answers in time
    return 0;
  }
}

/** Whether the status of a page is 200 within `limitMs`, as in a probe of kubelet. */
export async function isOk(port: number, path: string, limitMs: number): Promise<boolean> {
  return (await httpStatus(port, path, limitMs)) === 200;
}
