// Announces what was just done: the text is shown for some seconds at the bottom of the page and read out by screen
// readers (app.tsx has the live region).

import { signal } from '@preact/signals';
import { visible } from '../../src/core/text/visible.ts';

export const announcement = signal('');
const SHOWN_MS = 6000;
let fades: ReturnType<typeof setTimeout> | undefined;

export function announce(text: string): void {
  clearTimeout(fades);
  announcement.value = visible(text);
  fades = setTimeout(() => {
    announcement.value = '';
  }, SHOWN_MS);
}
