import fc from 'fast-check';

/** A name in wire form with any bytes in its labels, at most 255 bytes long. */
export const wireNames = fc
  .array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 8 })
  .map((labels) => Uint8Array.from([...labels.flatMap((label) => [label.length, ...label]), 0]))
  .filter((name) => name.length <= 255);

/** A host name in text, such as Kubernetes has. */
export const hostNames = fc
  .array(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?$/), { minLength: 1, maxLength: 6 })
  .map((labels) => labels.join('.'));
