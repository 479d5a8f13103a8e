/** Which version of the ConfigMap is active, and since when. */
export class AppliedConfig {
  /** A hash of its content, '' before the first. */
  version = '';
  /** How many were activated. */
  generation = 0;
  /** When, in ms since the epoch; 0 before the first. */
  appliedMs = 0;

  /** A version is active from now on. */
  note(version: string, nowMs = Date.now()): void {
    this.version = version;
    this.generation++;
    this.appliedMs = nowMs;
  }
}
