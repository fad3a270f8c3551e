// The header with which a caller names the run that its calls belong to.

import { invalidInput } from '../../core/errors.ts';
import { runNameFault } from '../../core/flows/names.ts';

const RUN_HEADER = 'Toolgate-Run';
/** Every check looks for it, and the runtime takes twice as long for a name with capitals. */
const LOOKED_UP = RUN_HEADER.toLowerCase();

/** The name of the run; undefined if none is named. It throws if the name cannot be one. */
export function runOf(headers: Headers): string | undefined {
  const name = headers.get(LOOKED_UP);
  return name === null ? undefined : requireRunName(name, `/${RUN_HEADER}`);
}

/** `path` says where the name stands. */
export function requireRunName(name: string, path: string): string {
  const message = runNameFault(name);
  if (message !== null) throw invalidInput([{ path, message }]);
  return name;
}
