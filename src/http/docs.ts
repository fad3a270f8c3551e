// The API reference as one page that needs nothing from the network.

import type { OpenApi } from './openapi.ts';

export function docsPage(document: OpenApi): Response {
  return new Response(`<!doctype html><title>${document.info.title}</title>`, {
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  });
}
