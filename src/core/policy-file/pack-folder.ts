// Some packs are about a project's folder, which has to be put in before they are saved. Their texts have an example in
// its place, and a comment that says so; a text that still has the comment is refused.

import { pathJoin } from '../condition/path.ts';

/** Stands for the project in the packs about files. */
export const EXAMPLE_FOLDER = '/srv/project';

/** The comment of those packs that says so. A text that still has it was taken as it is. */
const TO_PUT_IN = /^# Put in your own folder for \/srv\/project:.*\n/m;

/** Would end the condition that the folder is written into, or the line of YAML around it. */
const ENDS_A_TEXT = /["'\\\n]|: | #/;

/** Whether the text has a folder that somebody has to put in. */
export function wantsFolder(text: string): boolean {
  return TO_PUT_IN.test(text);
}

/** The text for another folder, an absolute path. It may also be the one that the example has. */
export function withFolder(text: string, folder: string): string {
  const chosen = folder.replace(/(?<=.)\/+$/, '');
  return text.replace(TO_PUT_IN, '').replaceAll(EXAMPLE_FOLDER, () => chosen);
}

/** What is wrong with a folder for `withFolder`, or null. */
export function folderFault(folder: string): string | null {
  if (folder === '/') return 'must not be the whole disk';
  if (pathJoin('/', folder) !== folder.replace(/(?<=.)\/+$/, '')) {
    return 'must be an absolute path, without ".", ".." and repeated slashes';
  }
  return ENDS_A_TEXT.test(folder) ? 'may have no quotes, no backslashes, no ": " and no " #" in it' : null;
}

/** What a text that is saved as it came from its pack is refused with; null if nothing is left to put in. */
export function folderMissing(text: string): string | null {
  // Whoever has put in a folder everywhere else has chosen.
  if (!wantsFolder(text) || !text.replace(TO_PUT_IN, '').includes(EXAMPLE_FOLDER)) return null;
  return (
    `still has ${EXAMPLE_FOLDER}, which stands for your own folder: use \`toolgate policies new --from <pack> --folder <path>\`, ` +
    `or put in the path everywhere. If your folder really is ${EXAMPLE_FOLDER}, remove the comment that says to put in another`
  );
}
