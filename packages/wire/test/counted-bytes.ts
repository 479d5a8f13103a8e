/** The same bytes, which count how often one of them is read by its index. */
export function countedBytes(from: Uint8Array): { readonly bytes: Uint8Array; reads: number } {
  const counted = { bytes: from, reads: 0 };
  counted.bytes = new Proxy(from, {
    get: (bytes, key) => {
      const value: unknown = Reflect.get(bytes, key);
      if (typeof value === 'number' && key !== 'length') counted.reads++;
      return typeof value === 'function' ? (value.bind(bytes) as unknown) : value;
    },
  });
  return counted;
}
