/** The content of `/healthcheck/<label>`. */
export interface Health {
  readonly isOk: boolean;
  readonly latencySeconds: number;
  /** The reason when it is not ok, otherwise empty. */
  readonly error: string;
}

/** The body of `/healthcheck/<label>`, in the keys, order and escapes of Go's encoding/json. */
export function healthJson({ isOk, latencySeconds, error }: Health): string {
  return JSON.stringify({ IsOk: isOk, LatencySeconds: latencySeconds, Err: error }).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
