// The folder that a person puts into the text of a pack.

import { folderFault, withFolder } from '../../../../src/core/policy-file/pack-folder.ts';

export const FOLDER_HINT =
  'Where the agent works: the whole path on its machine, or that of the folder that holds all of its projects.';

/** The pack's text for this folder. Throws what is wrong with the folder, as a person reads it. */
export function forFolder(text: string, folder: string): string {
  const fault = folderFault(folder);
  if (fault !== null) throw new Error(`The folder ${fault}.`);
  return withFolder(text, folder);
}
