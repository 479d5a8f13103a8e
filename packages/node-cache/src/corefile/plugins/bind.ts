import { isIpAddress } from '@kube-dns/daemon';
import type { BlockDraft, CorefileHost } from '../block-draft.js';
import type { Directive } from '../corefile.js';
import { checkWords, fail } from '../directive-words.js';

/** Reads `bind ADDRESS|INTERFACE… { except ADDRESS|INTERFACE… }`; several add up. */
export function readBind(each: Directive, draft: BlockDraft, host: CorefileHost): void {
  if (each.args.length === 0) fail(each, 'at least one address or interface name is expected');
  const except = new Set(
    (each.block ?? []).flatMap((option) => {
      if (option.name !== 'except') fail(option, 'bind has no such option');
      checkWords(option, 1, Infinity, 'ADDRESS…');
      return addresses(option, host);
    }),
  );
  const own = addresses(each, host).filter((address) => !except.has(address));
  // None would be every address.
  if (own.length === 0) fail(each, 'no address is left to listen on');
  draft.addresses = [...draft.addresses, ...own];
}

function addresses(each: Directive, { interfaceAddresses }: CorefileHost): string[] {
  return each.args.flatMap((word) => {
    const ofInterface = interfaceAddresses(word);
    if (ofInterface !== undefined) return ofInterface;
    if (isIpAddress(word)) return word;
    return fail(each, `not a valid IP address or interface name: ${JSON.stringify(word)}`);
  });
}
