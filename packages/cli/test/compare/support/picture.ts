import { fileURLToPath } from 'node:url';

/** The picture of a page, in the README. */
export const PICTURE = fileURLToPath(new URL('../../../images/compare.png', import.meta.url));
export const MAX_PICTURE_BYTES = 300 * 1024;
export const PICTURE_SIZE = { width: 1060, height: 1290 };

/** Width and height in the header of a PNG file; throws for another file. */
export function pngSize(png: Buffer): { width: number; height: number } {
  if (png.toString('latin1', 1, 4) !== 'PNG') throw new Error('no PNG');
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}
