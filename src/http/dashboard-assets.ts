// The dashboard's files, had from dashboard-build.ts when somebody first asks for them, so that starting costs
// nothing. They live in memory and are never written.

import { buildDashboard, type Dashboard } from './dashboard-build.ts';

let known: Promise<Dashboard> | null = null;

export function dashboard(): Promise<Dashboard> {
  known ??= buildDashboard().catch(error => {
    // The next request tries again.
    known = null;
    throw error;
  });
  return known;
}
