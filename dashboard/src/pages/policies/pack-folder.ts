// The folder of the packs: an example that nobody should save as it is, since the rules would then be about a folder that is
// not theirs.

/** The folder in the texts of packs. */
const EXAMPLE = '/srv/project';
const EXACTLY = /\/srv\/project(?![\w./-])/;

export const hasExampleFolder = (text: string): boolean => EXACTLY.test(text);

/** Letters, digits and usual signs only: the folder goes into quotations of YAML and of conditions. */
const FOLDER = /^\/[\p{L}\p{N} ._@+~/-]*[\p{L}\p{N}_@+~-]\/?$/u;

/** Why this cannot be the folder; null if it can. */
export function folderFault(folder: string): string | null {
  if (folder.replace(/\/+$/, '') === EXAMPLE) return EXAMPLE_FAULT;
  if (!FOLDER.test(folder))
    return 'Write the whole path of the folder, such as /home/ann/project, without quotation marks and backslashes.';
  return null;
}

/** A pack's text for this folder. */
export function withFolder(text: string, folder: string): string {
  const fault = folderFault(folder);
  if (fault !== null) throw new Error(fault);
  return text.replaceAll(EXAMPLE, folder.replace(/\/+$/, ''));
}

export const EXAMPLE_FAULT =
  'The folder /srv/project is only the example of the pack: put the folder of your project in its place, such as /home/ann/project. (If your project really is there, write /srv/./project.)';

export const FOLDER_HINT =
  'Where the agent works: the whole path on its machine, or that of the folder that holds all of its projects.';
