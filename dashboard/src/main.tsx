// The entry point of the dashboard in the browser.

import { render } from 'preact';
import { App } from './app.tsx';
import { startHealth } from './health.ts';
import { startLive } from './live.ts';
import { watchPending } from './notifications.ts';
import { startPending } from './pending.ts';
import { seesOwnOnly } from './session.ts';
import { startTheme } from './theme.ts';
import { startTitle } from './title.ts';

startTheme();
// What waits and what happens is about everybody.
if (!seesOwnOnly.value) {
  startPending();
  startLive();
  watchPending();
  startHealth();
}
startTitle();
render(<App />, document.getElementById('app') as HTMLElement);
