import type { Message } from '@kube-dns/testkit';

/** The data of the answers as text: fields and strings of one record are separated by blanks. */
export function dataOf({ answers }: Message): string[] {
  return answers.map((record) => {
    const data = 'data' in record ? (record.data as unknown) : '';
    if (typeof data === 'string') return data;
    if (data instanceof Uint8Array) return Buffer.from(data).toString();
    return Object.values(data as object).join(' ');
  });
}
