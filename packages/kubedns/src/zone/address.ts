import { TYPE } from '@kube-dns/wire';

const IPV6_GROUPS = 8;
const COLON = 0x3a;
const HEX = '0123456789abcdef';

/** A for four bytes, AAAA for sixteen. */
export function addressType(size: number): number {
  return size === 4 ? TYPE.A : TYPE.AAAA;
}

/** Writes the text of an IPv6 address as RFC 5952 has it; returns its length, 39 at most. */
export function writeIpv6Text(bytes: string, start: number, out: Uint8Array): number {
  const zerosAt = longestZeros(bytes, start);
  let zerosEnd = zerosAt;
  let at = 0;
  for (let i = 0; i < IPV6_GROUPS; i++) {
    if (i === zerosAt) {
      while (zerosEnd < IPV6_GROUPS && groupAt(bytes, start, zerosEnd) === 0) zerosEnd++;
      out[at++] = COLON;
      out[at++] = COLON;
      i = zerosEnd - 1;
      continue;
    }
    if (i > 0 && i !== zerosEnd) out[at++] = COLON;
    const group = groupAt(bytes, start, i);
    let shift = 12;
    while (shift > 0 && group >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out[at++] = HEX.charCodeAt((group >>> shift) & 0xf);
  }
  return at;
}

/** The first group of the longest run of zero groups; -1 without a run of at least two. */
function longestZeros(bytes: string, start: number): number {
  let longest = 1;
  let longestAt = -1;
  for (let i = 0, run = 0; i < IPV6_GROUPS; i++) {
    run = groupAt(bytes, start, i) === 0 ? run + 1 : 0;
    if (run > longest) {
      longest = run;
      longestAt = i - run + 1;
    }
  }
  return longestAt;
}

function groupAt(bytes: string, start: number, i: number): number {
  return (bytes.charCodeAt(start + i * 2) << 8) | bytes.charCodeAt(start + i * 2 + 1);
}
