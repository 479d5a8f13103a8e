import { CodedError } from '@kube-dns/base';
import type { Directive } from './corefile.js';

/** A directive that is not obeyed; who reads the block adds its file, its line and its words. */
export class DirectiveError extends CodedError {
  readonly directive: Directive;

  constructor(directive: Directive, reason: string) {
    super('directive', reason);
    this.directive = directive;
  }
}
