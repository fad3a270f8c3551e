// Presets of servers that their companies run.

import type { Preset } from './preset.ts';

export const ON_THE_NETWORK: readonly Preset[] = [
  {
    name: 'github',
    title: 'GitHub',
    by: 'GitHub',
    pack: 'github',
    needs: [
      'A fine-grained personal access token that sees only the repositories the agent works in; or an OAuth app of your own, since GitHub registers no clients.',
    ],
    source: 'https://github.com/github/github-mcp-server/blob/main/docs/remote-server.md',
    readOn: '2026-11-18',
    transport: 'http',
    url: 'https://api.githubcopilot.com/mcp/',
    accepts: ['headers', 'oauth'],
    headers: { Authorization: 'Bearer <token>' },
  },
  {
    name: 'stripe',
    title: 'Stripe',
    by: 'Stripe',
    pack: 'payments',
    needs: [
      'Somebody who signs in at Stripe and chooses an account; begin with a sandbox. Or a restricted API key, which may do no more than the agent needs.',
    ],
    source: 'https://docs.stripe.com/mcp',
    readOn: '2026-11-19',
    transport: 'http',
    url: 'https://mcp.stripe.com',
    accepts: ['oauth', 'headers'],
    headers: { Authorization: 'Bearer <restricted key>' },
  },
  {
    name: 'paypal',
    title: 'PayPal',
    by: 'PayPal',
    pack: 'payments',
    needs: [
      'Somebody who signs in at PayPal. The sandbox has an address of its own: https://mcp.sandbox.paypal.com/mcp.',
    ],
    source: 'https://developer.paypal.com/ai-tools/mcp-server',
    readOn: '2026-11-18',
    transport: 'http',
    url: 'https://mcp.paypal.com/mcp',
    accepts: ['oauth'],
    headers: {},
  },
];
