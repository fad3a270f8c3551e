// Keeps the memory of the process out of crash files, because the details of held calls are in it. On Linux a process
// says itself which of its memory a core dump has. Elsewhere, and where this fails, the limit of the system applies
// (`ulimit -c 0`).

import { writeFileSync } from 'node:fs';

/** No kind of memory is dumped. The processes that this one starts inherit it: they see arguments too. */
const NOTHING = '0';

export function keepMemoryOutOfDumps(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/coredump_filter', NOTHING);
  } catch {
    // The kernel was built without it, or /proc is not there.
  }
}
