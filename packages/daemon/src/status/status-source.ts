import type { RefusedConfig } from '../config-refusal.js';
import type { StatusFacts, StatusSections } from './status-sections.js';

/** Where a program's configuration is from, beside its command line, and what became of it. */
export interface ConfigStatus {
  /** As `ConfigMap kube-system/kube-dns` or `/kube-dns-config`. */
  readonly source: string;
  /** A hash of its content; '' for none. */
  readonly version: string;
  /** In ms since the epoch; 0 before the first. */
  readonly appliedMs: number;
  /** The last one that was refused, until another one is applied. */
  readonly refused: RefusedConfig | undefined;
  /** Its keys or files, as settings. */
  readonly settings?: readonly Setting[];
}

/** One setting of a program. */
export interface Setting extends StatusFacts {
  readonly setting: string;
  readonly value: string;
  /** `command line`, `environment`, `default`, or the name of a file or a ConfigMap. */
  readonly from: string;
}

/** What a program shows on its status page beside what all have. Each is called at a request. */
export interface StatusSource {
  /** Why it is not ready; empty while it is. */
  readonly notReady?: () => readonly string[];
  /** What someone has to look at, a sentence each. */
  readonly problems?: () => readonly string[];
  /** Settings that are no flags of the program's table: variables, options. */
  readonly settings?: () => readonly Setting[];
  readonly configuration?: () => ConfigStatus | undefined;
  readonly sections: () => StatusSections | Promise<StatusSections>;
}
