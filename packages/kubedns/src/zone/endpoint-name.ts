const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/**
 * The label of an address that has no hostname, as kubernetes/dns pkg/dns/util/util.go (HashServiceRecord)
 * makes it: FNV-1a over the text of the record as Go prints it, in hex, and that text in hex once more.
 * Clients have seen and kept such names, so ours are the same.
 */
export function hashLabel(address: string): string {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(`&{${address} 0 10 10  false 30 0  }`, 'latin1')) {
    hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  return Buffer.from((hash >>> 0).toString(16), 'latin1').toString('hex');
}
