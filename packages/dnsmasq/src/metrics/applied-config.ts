/** Which version of the ConfigMap is in force, and since when. */
export class AppliedConfig {
  /** A hash of its content, '' before the first. */
  version = '';
  /** How many were put in force. */
  generation = 0;
  /** When, in ms since the epoch; 0 before the first. */
  appliedMs = 0;

  /** A version is in force from now on. */
  note(version: string, nowMs = Date.now()): void {
    this.version = version;
    this.generation++;
    this.appliedMs = nowMs;
  }
}
