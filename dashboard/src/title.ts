// How many calls wait, in the title of the tab and on its icon, so that it is seen while another tab is shown.

import { effect, signal } from '@preact/signals';
import { pending } from './pending.ts';

/** The name of the page that is shown. */
export const pageTitle = signal('');

export function startTitle(): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const plain = icon?.href ?? '';
  effect(() => {
    const count = pending.value?.length ?? 0;
    const name = pageTitle.value === '' ? 'Toolgate' : `${pageTitle.value} · Toolgate`;
    document.title = count === 0 ? name : `(${count}) ${name}`;
    if (icon !== null) icon.href = count === 0 ? plain : withBadge(plain, count);
  });
}

/** The icon is an SVG image in its own address; the badge is drawn over its corner. */
function withBadge(icon: string, count: number): string {
  const text = count > 9 ? '9+' : String(count);
  const badge = `<circle cx="16" cy="8" r="8" fill="#b3261e"/><text x="16" y="12" text-anchor="middle"
    font-family="sans-serif" font-size="${count > 9 ? 10 : 12}" font-weight="700" fill="#fff">${text}</text>`;
  return icon.replace(encodeURIComponent('</svg>'), found => encodeURIComponent(badge) + found);
}
