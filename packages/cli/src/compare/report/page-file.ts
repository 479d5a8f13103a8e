import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../../errors.js';
import { refusal } from '../refusal.js';

/** Throws a refusal when the page could not be written; creates nothing, so that a failed run leaves no file. */
export function checkPageFile(file: string): void {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isDirectory() === true) throw new Error('is a directory');
    accessSync(existing === undefined ? dirname(file) : file, constants.W_OK);
  } catch (cause) {
    throw unwritable(file, cause);
  }
}

/** Writes the page; throws a refusal. */
export function writePage(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw unwritable(file, cause);
  }
}

function unwritable(file: string, cause: unknown): Error {
  return refusal(`cannot write the page ${file}: ${reasonOf(cause)}`, { cause });
}
