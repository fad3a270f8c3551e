// The files that a patch in Codex's format would write. Codex accepts more than its own grammar says; a patch that is not
// written as the grammar says is not understood here.

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const FILE = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/;
const END_OF_FILE = '*** End of File';

/** Codex cuts blanks off before it looks for a header; Rust counts one character among them that JavaScript does not. */
const LIKE_HEADER = /^[\s\u0085]*\*\*\*/;
const OF_HUNK = /^(?:[+\- ]|@@|$)/;

/** The paths as they stand in the patch; null if it is not understood, or names none. */
export function filesOfPatch(patch: string): string[] | null {
  const lines = patch.replace(/\n$/, '').split('\n');
  if (lines.shift() !== BEGIN || lines.pop() !== END) return null;
  const files: string[] = [];
  for (const line of lines) {
    const file = FILE.exec(line)?.[1];
    if (file !== undefined) files.push(file);
    else if (line !== END_OF_FILE && (LIKE_HEADER.test(line) || !OF_HUNK.test(line))) return null;
  }
  return files.length === 0 ? null : files;
}
