// The routes' successful answers in JSON. `npm run openapi` writes this file from the routes' schemas: change those.

export interface Answers {
  'POST /v1/check': {
    decision: 'allow' | 'deny' | 'pending';
    reason: string;
    policyId: string;
    toolCallId: string;
    referenceId?: string;
    message?: string;
    known?: string;
    results?: boolean;
    latencyMs: number;
  };
  'POST /v1/results': Record<string, unknown>;
  'POST /v1/sessions': {
    id: string;
    label: string;
    prefix: string;
    scopeTools: string[] | null;
    expiresAt: string;
    attributes?: Record<string, unknown>;
    token: string;
  };
  'GET /v1/sessions': {
    sessions: {
      id: string;
      label: string;
      prefix: string;
      scopeTools: string[] | null;
      createdAt: string;
      expiresAt: string;
      attributes?: Record<string, unknown>;
    }[];
  };
  'POST /v1/approve/{token}': {
    referenceId: string;
    status: 'pending' | 'approved' | 'denied';
    grantExpiresAt: string | null;
    note: string | null;
    votes: {
      needed: number;
      approved: {
        by: string;
        at: string;
      }[];
    };
  };
  'GET /admin/v1/policies': {
    policies: {
      id: string;
      name: string;
      description: string;
      version: number;
      createdAt: string;
      updatedAt: string;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/policies': {
    id: string;
    name: string;
    description: string;
    version: number;
    createdAt: string;
    updatedAt: string;
    rules: {
      name?: string;
      tool: string;
      action: 'allow' | 'deny' | 'require_approval';
      when?: string | string[];
      during?: string;
      limit?: string;
      marks?: string | string[];
      known?: 'results';
      show?: 'all' | string[];
      ask?: string;
      approvers?: {
        group?: string;
        count?: number;
        proof?: 'passkey';
      };
      timeout?: string;
      notify?: string[];
      escalate?: {
        after: string;
        notify: string[];
      };
      reason?: string;
    }[];
    limits: Record<
      string,
      {
        calls?: number;
        sum?: string;
        atMost?: number;
        unit?: number;
        within?: string;
        each?: 'hour' | 'day' | 'week' | 'month';
        zone?: string;
        per?: 'key' | 'session' | 'person' | 'policy';
        beyond?: 'deny' | 'require_approval';
      }
    >;
    results: {
      tool: string;
      when?: string | string[];
      hide?:
        | 'secrets'
        | 'email'
        | 'phone'
        | 'iban'
        | 'card'
        | 'ip'
        | {
            pattern: string;
            as: string;
          }
        | (
            | 'secrets'
            | 'email'
            | 'phone'
            | 'iban'
            | 'card'
            | 'ip'
            | {
                pattern: string;
                as: string;
              }
          )[];
      withhold?: true;
      reason?: string;
      atMost?: string;
      marks?: string | string[];
    }[];
    text: string;
    warnings?: string[];
  };
  'GET /admin/v1/policies/{id}': {
    id: string;
    name: string;
    description: string;
    version: number;
    createdAt: string;
    updatedAt: string;
    rules: {
      name?: string;
      tool: string;
      action: 'allow' | 'deny' | 'require_approval';
      when?: string | string[];
      during?: string;
      limit?: string;
      marks?: string | string[];
      known?: 'results';
      show?: 'all' | string[];
      ask?: string;
      approvers?: {
        group?: string;
        count?: number;
        proof?: 'passkey';
      };
      timeout?: string;
      notify?: string[];
      escalate?: {
        after: string;
        notify: string[];
      };
      reason?: string;
    }[];
    limits: Record<
      string,
      {
        calls?: number;
        sum?: string;
        atMost?: number;
        unit?: number;
        within?: string;
        each?: 'hour' | 'day' | 'week' | 'month';
        zone?: string;
        per?: 'key' | 'session' | 'person' | 'policy';
        beyond?: 'deny' | 'require_approval';
      }
    >;
    results: {
      tool: string;
      when?: string | string[];
      hide?:
        | 'secrets'
        | 'email'
        | 'phone'
        | 'iban'
        | 'card'
        | 'ip'
        | {
            pattern: string;
            as: string;
          }
        | (
            | 'secrets'
            | 'email'
            | 'phone'
            | 'iban'
            | 'card'
            | 'ip'
            | {
                pattern: string;
                as: string;
              }
          )[];
      withhold?: true;
      reason?: string;
      atMost?: string;
      marks?: string | string[];
    }[];
    text: string;
  };
  'PUT /admin/v1/policies/{id}': Answers['POST /admin/v1/policies'];
  'GET /admin/v1/policies/{id}/versions': {
    versions: {
      version: number;
      name: string;
      rules: {
        name?: string;
        tool: string;
        action: 'allow' | 'deny' | 'require_approval';
        when?: string | string[];
        during?: string;
        limit?: string;
        marks?: string | string[];
        known?: 'results';
        show?: 'all' | string[];
        ask?: string;
        approvers?: {
          group?: string;
          count?: number;
          proof?: 'passkey';
        };
        timeout?: string;
        notify?: string[];
        escalate?: {
          after: string;
          notify: string[];
        };
        reason?: string;
      }[];
      limits: Record<
        string,
        {
          calls?: number;
          sum?: string;
          atMost?: number;
          unit?: number;
          within?: string;
          each?: 'hour' | 'day' | 'week' | 'month';
          zone?: string;
          per?: 'key' | 'session' | 'person' | 'policy';
          beyond?: 'deny' | 'require_approval';
        }
      >;
      results: {
        tool: string;
        when?: string | string[];
        hide?:
          | 'secrets'
          | 'email'
          | 'phone'
          | 'iban'
          | 'card'
          | 'ip'
          | {
              pattern: string;
              as: string;
            }
          | (
              | 'secrets'
              | 'email'
              | 'phone'
              | 'iban'
              | 'card'
              | 'ip'
              | {
                  pattern: string;
                  as: string;
                }
            )[];
        withhold?: true;
        reason?: string;
        atMost?: string;
        marks?: string | string[];
      }[];
      text: string;
      createdAt: string;
      createdBy: string;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/policies/{id}/replay': {
    from: string;
    to: string;
    calls: number;
    changed: number;
    depends: number;
    earlier: number;
    changes: {
      serverName: string;
      toolName: string;
      keyId: string;
      from: 'allow' | 'deny' | 'pending';
      to: 'allow' | 'deny' | 'pending';
      calls: number;
      examples: string[];
    }[];
  };
  'GET /admin/v1/packs': {
    packs: {
      name: string;
      title: string;
      description: string;
      text: string;
    }[];
  };
  'GET /admin/v1/limits': {
    limits: {
      policyId: string;
      name: string;
      per: 'key' | 'session' | 'person' | 'policy';
      subject: string;
      used: number;
      atMost: number;
      windowEndsAt: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/keys': {
    keys: {
      id: string;
      name: string;
      prefix: string;
      policyId: string;
      shadowPolicyId: string | null;
      requireSignInToApprove: boolean;
      expiresAt: string | null;
      notify:
        | {
            emails?: string[];
            slackWebhookUrl?: string;
            url?: string;
          }
        | string[]
        | null;
      forward: ('resources' | 'prompts' | 'completion')[];
      openTo: string[];
      tasks: boolean;
      approveHere: boolean;
      createdAt: string;
      revokedAt: string | null;
      lastUsedAt: string | null;
      driftedTools: number;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/keys': {
    id: string;
    name: string;
    prefix: string;
    policyId: string;
    shadowPolicyId: string | null;
    requireSignInToApprove: boolean;
    expiresAt: string | null;
    notify:
      | {
          emails?: string[];
          slackWebhookUrl?: string;
          url?: string;
        }
      | string[]
      | null;
    forward: ('resources' | 'prompts' | 'completion')[];
    openTo: string[];
    tasks: boolean;
    approveHere: boolean;
    createdAt: string;
    revokedAt: string | null;
    key: string;
    warnings?: string[];
  };
  'GET /admin/v1/keys/{id}': {
    id: string;
    name: string;
    prefix: string;
    policyId: string;
    shadowPolicyId: string | null;
    requireSignInToApprove: boolean;
    expiresAt: string | null;
    notify:
      | {
          emails?: string[];
          slackWebhookUrl?: string;
          url?: string;
        }
      | string[]
      | null;
    forward: ('resources' | 'prompts' | 'completion')[];
    openTo: string[];
    tasks: boolean;
    approveHere: boolean;
    createdAt: string;
    revokedAt: string | null;
    lastUsedAt: string | null;
    driftedTools: number;
  };
  'PATCH /admin/v1/keys/{id}': {
    id: string;
    name: string;
    prefix: string;
    policyId: string;
    shadowPolicyId: string | null;
    requireSignInToApprove: boolean;
    expiresAt: string | null;
    notify:
      | {
          emails?: string[];
          slackWebhookUrl?: string;
          url?: string;
        }
      | string[]
      | null;
    forward: ('resources' | 'prompts' | 'completion')[];
    openTo: string[];
    tasks: boolean;
    approveHere: boolean;
    createdAt: string;
    revokedAt: string | null;
  };
  'POST /admin/v1/connect-tickets': {
    command: string;
    expiresAt: string;
    platform: string | null;
  };
  'POST /admin/v1/keys/{id}/suggest': {
    text: string;
  };
  'GET /admin/v1/keys/{id}/shadow': {
    policyId: string;
    policyVersion: number;
    from: string;
    to: string;
    calls: number;
    agreements: number;
    differences: {
      serverName: string;
      toolName: string;
      from: 'allow' | 'deny' | 'pending';
      to: 'allow' | 'deny' | 'pending';
      calls: number;
      examples: string[];
    }[];
  };
  'GET /admin/v1/tool-servers': {
    toolServers: {
      id: string;
      name: string;
      transport: 'http' | 'sse' | 'stdio';
      url?: string;
      server?: string;
      hasHeaders: boolean;
      namesCalls: boolean;
      auth: 'none' | 'headers' | 'oauth';
      oauth: {
        as: 'key' | 'person';
        clientId?: string;
        scopes?: string[];
        trustedHosts?: string[];
        hasClientSecret: boolean;
      } | null;
      redirectUri: string | null;
      authorizationServer: string | null;
      signIn: {
        state: 'signed_in' | 'needed' | 'ended';
        as: string | null;
        until: string | null;
        error: string | null;
      } | null;
      createdAt: string;
      updatedAt: string | null;
      trust: 'first' | 'reviewed';
      health: {
        state: 'idle' | 'ready' | 'down';
        error: string | null;
        since: string;
      };
      sandbox: {
        enforced: string[];
        notEnforced: {
          what: string;
          why: string;
        }[];
      } | null;
      tools: {
        name: string;
        drifted: boolean;
      }[];
      keys: number;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/tool-servers': {
    id: string;
    name: string;
    transport: 'http' | 'sse' | 'stdio';
    url?: string;
    server?: string;
    hasHeaders: boolean;
    namesCalls: boolean;
    auth: 'none' | 'headers' | 'oauth';
    oauth: {
      as: 'key' | 'person';
      clientId?: string;
      scopes?: string[];
      trustedHosts?: string[];
      hasClientSecret: boolean;
    } | null;
    redirectUri: string | null;
    authorizationServer: string | null;
    signIn: {
      state: 'signed_in' | 'needed' | 'ended';
      as: string | null;
      until: string | null;
      error: string | null;
    } | null;
    createdAt: string;
    updatedAt: string | null;
    trust: 'first' | 'reviewed';
    health: {
      state: 'idle' | 'ready' | 'down';
      error: string | null;
      since: string;
    };
    sandbox: {
      enforced: string[];
      notEnforced: {
        what: string;
        why: string;
      }[];
    } | null;
    tools: {
      name: string;
      drifted: boolean;
    }[];
    keys: number;
  };
  'GET /admin/v1/tool-servers/{id}': {
    id: string;
    name: string;
    transport: 'http' | 'sse' | 'stdio';
    url?: string;
    server?: string;
    hasHeaders: boolean;
    namesCalls: boolean;
    auth: 'none' | 'headers' | 'oauth';
    oauth: {
      as: 'key' | 'person';
      clientId?: string;
      scopes?: string[];
      trustedHosts?: string[];
      hasClientSecret: boolean;
    } | null;
    redirectUri: string | null;
    authorizationServer: string | null;
    signIn: {
      state: 'signed_in' | 'needed' | 'ended';
      as: string | null;
      until: string | null;
      error: string | null;
    } | null;
    createdAt: string;
    updatedAt: string | null;
    trust: 'first' | 'reviewed';
    health: {
      state: 'idle' | 'ready' | 'down';
      error: string | null;
      since: string;
    };
    sandbox: {
      enforced: string[];
      notEnforced: {
        what: string;
        why: string;
      }[];
    } | null;
    tools: {
      name: string;
      drifted: boolean;
    }[];
    keys: number;
    uses: {
      keyId: string;
      keyName: string;
      connectedToolId: string;
      name: string;
    }[];
  };
  'PATCH /admin/v1/tool-servers/{id}': Answers['POST /admin/v1/tool-servers'];
  'POST /admin/v1/tool-servers/{id}/test': {
    ok: boolean;
    error: string | null;
    tools: string[];
  };
  'GET /admin/v1/keys/{id}/connected-tools': {
    connectedTools: {
      id: string;
      name: string;
      transport: 'http' | 'sse' | 'stdio';
      url?: string;
      server?: string;
      hasHeaders: boolean;
      namesCalls: boolean;
      auth: 'none' | 'headers' | 'oauth';
      oauth: {
        as: 'key' | 'person';
        clientId?: string;
        scopes?: string[];
        trustedHosts?: string[];
        hasClientSecret: boolean;
      } | null;
      redirectUri: string | null;
      authorizationServer: string | null;
      signIn: {
        state: 'signed_in' | 'needed' | 'ended';
        as: string | null;
        until: string | null;
        error: string | null;
      } | null;
      createdAt: string;
      updatedAt: string | null;
      trust: 'first' | 'reviewed';
      health: {
        state: 'idle' | 'ready' | 'down';
        error: string | null;
        since: string;
      };
      sandbox: {
        enforced: string[];
        notEnforced: {
          what: string;
          why: string;
        }[];
      } | null;
      tools: {
        name: string;
        drifted: boolean;
      }[];
      toolServerId: string | null;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/keys/{id}/connected-tools': {
    id: string;
    name: string;
    transport: 'http' | 'sse' | 'stdio';
    url?: string;
    server?: string;
    hasHeaders: boolean;
    namesCalls: boolean;
    auth: 'none' | 'headers' | 'oauth';
    oauth: {
      as: 'key' | 'person';
      clientId?: string;
      scopes?: string[];
      trustedHosts?: string[];
      hasClientSecret: boolean;
    } | null;
    redirectUri: string | null;
    authorizationServer: string | null;
    signIn: {
      state: 'signed_in' | 'needed' | 'ended';
      as: string | null;
      until: string | null;
      error: string | null;
    } | null;
    createdAt: string;
    updatedAt: string | null;
    trust: 'first' | 'reviewed';
    health: {
      state: 'idle' | 'ready' | 'down';
      error: string | null;
      since: string;
    };
    sandbox: {
      enforced: string[];
      notEnforced: {
        what: string;
        why: string;
      }[];
    } | null;
    tools: {
      name: string;
      drifted: boolean;
    }[];
    toolServerId: string | null;
  };
  'PATCH /admin/v1/keys/{id}/connected-tools/{toolId}': Answers['POST /admin/v1/keys/{id}/connected-tools'];
  'POST /admin/v1/keys/{id}/connected-tools/{toolId}/test': Answers['POST /admin/v1/tool-servers/{id}/test'];
  'GET /admin/v1/keys/{id}/connected-tools/{toolId}/definitions': {
    definitions: {
      name: string;
      accepted: Record<string, unknown>;
      acceptedDigest: string;
      changed: Record<string, unknown> | null;
      changedDigest: string | null;
      changedAt: string | null;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/tool-servers/{id}/tools': {
    tools: {
      name: string;
      definition: Record<string, unknown>;
      digest: string;
      accepted: {
        by: string;
        at: string | null;
        digest: string;
      } | null;
      difference:
        | (
            | {
                mark: ' ' | '-' | '+';
                text: string;
              }
            | {
                mark: '…';
                count: number;
              }
          )[]
        | null;
      findings: {
        kind: 'hidden' | 'shadows' | 'mixed-script' | 'instructs' | 'annotation-lies' | 'url' | 'long';
        where: string;
        text: string;
      }[];
      heldFor: string[];
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/keys/{id}/connected-tools/{toolId}/tools': Answers['GET /admin/v1/tool-servers/{id}/tools'];
  'GET /admin/v1/accepted-tools': {
    tools: {
      server: string;
      tool: string;
      digest: string;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/keys/{id}/connected-tools/{toolId}/share': Answers['POST /admin/v1/tool-servers'];
  'POST /admin/v1/keys/{id}/connected-tools/{toolId}/connect': {
    url: string;
  };
  'POST /admin/v1/tool-servers/{id}/connect': Answers['POST /admin/v1/keys/{id}/connected-tools/{toolId}/connect'];
  'GET /admin/v1/me/servers': {
    servers: {
      id: string;
      name: string;
      url: string;
      keyId: string;
      keyName: string;
      signIn: {
        state: 'signed_in' | 'needed' | 'ended';
        as: string | null;
        until: string | null;
        error: string | null;
      };
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/me/servers/{toolId}/connect': Answers['POST /admin/v1/keys/{id}/connected-tools/{toolId}/connect'];
  'GET /admin/v1/server-file': {
    path: string | null;
    stdioServers: {
      name: string;
      command: string;
      args: number;
      env: string[];
      sandbox: {
        read: string[] | null;
        write: string[] | null;
        network: boolean;
        memory: number | null;
        processes: number | null;
        bestEffort: boolean;
      } | null;
      confinement: {
        enforced: string[];
        notEnforced: {
          what: string;
          why: string;
        }[];
      } | null;
      usedBy: {
        id: string;
        name: string;
        keyId: string | null;
      }[];
    }[];
  };
  'POST /admin/v1/server-file/reload': {
    path: string;
    added: string[];
    changed: string[];
    removed: string[];
    ignored: string[];
  };
  'GET /admin/v1/tool-server-presets': {
    presets: {
      name: string;
      title: string;
      by: string;
      pack: string;
      needs: string[];
      source: string;
      readOn: string;
      transport: 'http' | 'stdio';
      url?: string;
      accepts?: ('oauth' | 'headers')[];
      headers?: Record<string, string>;
      package?: {
        registry: 'npm' | 'PyPI';
        name: string;
        version: string;
      };
      install?: string | null;
      declaration?: string;
    }[];
  };
  'GET /admin/v1/sessions': {
    sessions: {
      id: string;
      keyId: string;
      label: string;
      prefix: string;
      scopeTools: string[] | null;
      createdAt: string;
      expiresAt: string;
      attributes?: Record<string, unknown>;
      revokedAt: string | null;
      revokedBecause: string | null;
      personId: string | null;
      personEmail: string | null;
      clientId: string | null;
      clientName: string | null;
      lastUsedAt: string | null;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/runs': {
    runs: {
      runId: string;
      keyId: string;
      sessionId?: string;
      personId?: string;
      surface:
        | 'check'
        | 'mcp'
        | 'claude-code'
        | 'copilot'
        | 'grok'
        | 'vscode'
        | 'codex'
        | 'cursor'
        | 'gemini-cli'
        | 'windsurf'
        | 'goose'
        | 'authzen'
        | 'ext-authz'
        | 'opa'
        | 'toolhive'
        | 'litellm'
        | 'arcade'
        | 'obot';
      name?: string;
      marks: {
        name: string;
        since: string;
        serverName: string;
        toolName: string;
        toolCallId: string;
      }[];
      known: number;
      dropped: number;
      lastCallAt: string;
      endsAt: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/runs/{id}': {
    runId: string;
    keyId: string;
    sessionId?: string;
    personId?: string;
    surface:
      | 'check'
      | 'mcp'
      | 'claude-code'
      | 'copilot'
      | 'grok'
      | 'vscode'
      | 'codex'
      | 'cursor'
      | 'gemini-cli'
      | 'windsurf'
      | 'goose'
      | 'authzen'
      | 'ext-authz'
      | 'opa'
      | 'toolhive'
      | 'litellm'
      | 'arcade'
      | 'obot';
    name?: string;
    marks: {
      name: string;
      since: string;
      serverName: string;
      toolName: string;
      toolCallId: string;
    }[];
    known: number;
    dropped: number;
    lastCallAt: string;
    endsAt: string;
  };
  'GET /admin/v1/approvals': {
    approvals: {
      referenceId: string;
      toolCallId: string;
      policyId: string;
      keyId: string;
      sessionId: string | null;
      personId?: string;
      personEmail?: string;
      runId?: string;
      surface:
        | 'check'
        | 'mcp'
        | 'claude-code'
        | 'copilot'
        | 'grok'
        | 'vscode'
        | 'codex'
        | 'cursor'
        | 'gemini-cli'
        | 'windsurf'
        | 'goose'
        | 'authzen'
        | 'ext-authz'
        | 'opa'
        | 'toolhive'
        | 'litellm'
        | 'arcade'
        | 'obot';
      serverName: string;
      toolName: string;
      status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
      reason: string;
      createdAt: string;
      expiresAt: string;
      resolvedAt: string | null;
      resolvedBy: string | null;
      grantExpiresAt: string | null;
      spentAt: string | null;
      withdrawnAt: string | null;
      usableUntil: string | null;
      note: string | null;
      approverGroup: string | null;
      proof: 'passkey' | null;
      votes: {
        needed: number;
        approved: {
          by: string;
          at: string;
        }[];
      };
      details?: {
        question: string | null;
        folder?: string;
        fields: {
          path: string;
          value: string;
          characters?: number | null;
          known?: boolean;
        }[];
        omitted?: number;
        omittedCharacters?: number;
        complete: boolean;
        digest: string;
      };
      detailsInserted?: {
        from: number;
        to: number;
      }[];
      detailsGone?: boolean;
      detailsHidden?: boolean;
      task?: {
        state: 'held' | 'gone' | 'runs' | 'ended';
        toolCallId: string | null;
        outcome:
          | 'ok'
          | 'tool_error'
          | 'upstream_failure'
          | 'timed_out'
          | 'cancelled'
          | 'sign_in_needed'
          | 'outcome_unknown'
          | null;
      };
      detailsElsewhere?: boolean;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/waiting': {
    full: {
      keyId: string;
      keyName: string;
      sessionId: string | null;
      open: number;
      atMost: number;
    }[];
    unanswerable: {
      group: string;
      needed: number;
      able: number;
      open: number;
      referenceId: string;
    }[];
  };
  'GET /admin/v1/approvals/{referenceId}': {
    referenceId: string;
    toolCallId: string;
    policyId: string;
    keyId: string;
    sessionId: string | null;
    personId?: string;
    personEmail?: string;
    runId?: string;
    surface:
      | 'check'
      | 'mcp'
      | 'claude-code'
      | 'copilot'
      | 'grok'
      | 'vscode'
      | 'codex'
      | 'cursor'
      | 'gemini-cli'
      | 'windsurf'
      | 'goose'
      | 'authzen'
      | 'ext-authz'
      | 'opa'
      | 'toolhive'
      | 'litellm'
      | 'arcade'
      | 'obot';
    serverName: string;
    toolName: string;
    status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
    reason: string;
    createdAt: string;
    expiresAt: string;
    resolvedAt: string | null;
    resolvedBy: string | null;
    grantExpiresAt: string | null;
    spentAt: string | null;
    withdrawnAt: string | null;
    usableUntil: string | null;
    note: string | null;
    approverGroup: string | null;
    proof: 'passkey' | null;
    votes: {
      needed: number;
      approved: {
        by: string;
        at: string;
      }[];
    };
    details?: {
      question: string | null;
      folder?: string;
      fields: {
        path: string;
        value: string;
        characters?: number | null;
        known?: boolean;
      }[];
      omitted?: number;
      omittedCharacters?: number;
      complete: boolean;
      digest: string;
    };
    detailsInserted?: {
      from: number;
      to: number;
    }[];
    detailsGone?: boolean;
    detailsHidden?: boolean;
    task?: {
      state: 'held' | 'gone' | 'runs' | 'ended';
      toolCallId: string | null;
      outcome:
        | 'ok'
        | 'tool_error'
        | 'upstream_failure'
        | 'timed_out'
        | 'cancelled'
        | 'sign_in_needed'
        | 'outcome_unknown'
        | null;
    };
    lacking?: {
      group: string;
      needed: number;
      able: number;
    };
    context: {
      toolDescription: string | null;
      drifted: boolean;
      connectedTool: {
        id: string;
        toolServerId: string | null;
      } | null;
      rule: {
        policyId: string;
        policyName: string;
        policyVersion: number;
        index: number;
        name: string | null;
        tool: string;
        action: 'allow' | 'deny' | 'require_approval';
        when: string[];
        reason: string | null;
      } | null;
      earlier: {
        asked: number;
        approved: number;
        denied: number;
        timedOut: number;
        lastBy: string | null;
        lastAt: string | null;
      };
      recentCalls: {
        at: string;
        serverName: string;
        toolName: string;
        decision: 'allow' | 'deny' | 'pending';
      }[];
      keyName: string;
      sessionLabel: string | null;
      marks: {
        name: string;
        since: string;
        serverName: string;
        toolName: string;
        toolCallId: string;
      }[];
    };
    notifications: {
      channel: string;
      state: 'pending' | 'sent' | 'failed' | 'dropped';
      time: string | null;
      lastError: string | null;
    }[];
    freed: {
      toolCallId: string;
      forwarded: {
        outcome:
          | 'ok'
          | 'tool_error'
          | 'upstream_failure'
          | 'timed_out'
          | 'cancelled'
          | 'sign_in_needed'
          | 'outcome_unknown';
        durationMs: number;
        at: string;
        result: {
          hidden: Record<string, number>;
          withheld: boolean;
          cut: boolean;
        } | null;
      } | null;
    } | null;
  };
  'POST /admin/v1/approvals/{referenceId}/resolve': {
    referenceId: string;
    toolCallId: string;
    policyId: string;
    keyId: string;
    sessionId: string | null;
    personId?: string;
    personEmail?: string;
    runId?: string;
    surface:
      | 'check'
      | 'mcp'
      | 'claude-code'
      | 'copilot'
      | 'grok'
      | 'vscode'
      | 'codex'
      | 'cursor'
      | 'gemini-cli'
      | 'windsurf'
      | 'goose'
      | 'authzen'
      | 'ext-authz'
      | 'opa'
      | 'toolhive'
      | 'litellm'
      | 'arcade'
      | 'obot';
    serverName: string;
    toolName: string;
    status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
    reason: string;
    createdAt: string;
    expiresAt: string;
    resolvedAt: string | null;
    resolvedBy: string | null;
    grantExpiresAt: string | null;
    spentAt: string | null;
    withdrawnAt: string | null;
    usableUntil: string | null;
    note: string | null;
    approverGroup: string | null;
    proof: 'passkey' | null;
    votes: {
      needed: number;
      approved: {
        by: string;
        at: string;
      }[];
    };
  };
  'POST /admin/v1/approvals/{referenceId}/proof': {
    options: {
      challenge: string;
    };
  };
  'GET /admin/v1/approvals/{referenceId}/proofs': {
    referenceId: string;
    toolCallId: string;
    serverName: string;
    toolName: string;
    askedAt: string;
    argsDigest: string;
    status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
    resolvedAt: string | null;
    proof: 'passkey' | null;
    votes: {
      needed: number;
      approved: {
        by: string;
        at: string;
      }[];
    };
    proofs: {
      by: string;
      operatorId: string;
      action: 'approve' | 'deny';
      at: string;
      nonce: string;
      credentialId: string;
      publicKey: string;
      fingerprint: string;
      rpId: string;
      origin: string;
      response: {
        id: string;
        response: {
          clientDataJSON: string;
          authenticatorData: string;
          signature: string;
        };
      };
    }[];
  };
  'GET /admin/v1/grants': {
    grants: {
      id: string;
      referenceId: string;
      keyId: string;
      serverName: string;
      toolName: string;
      createdAt: string;
      expiresAt: string;
      openedBy: string | null;
      used: number;
      only: string | null;
      sessionId: string | null;
      same: string[];
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/notifications': {
    notifications: {
      id: string;
      referenceId: string;
      channel: string;
      status: 'pending' | 'sent' | 'failed' | 'dropped';
      attempts: number;
      nextAttemptAt: string | null;
      lastError: string | null;
      createdAt: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/notifications/channels': {
    channels: {
      name: string;
      type: 'email' | 'slack' | 'teams' | 'http' | 'terminal' | 'unknown';
      target: string | null;
      state: 'ok' | 'failing' | 'unused';
      sent: number;
      waiting: number;
      failed: number;
      lastSentAt: string | null;
      lastErrorAt: string | null;
      lastError: string | null;
    }[];
  };
  'POST /admin/v1/notifications/channels/{name}/test': {
    results: {
      type: 'email' | 'slack' | 'teams' | 'http' | 'terminal' | 'unknown';
      error: string | null;
    }[];
  };
  'GET /admin/v1/webhooks': {
    webhooks: {
      id: string;
      url: string;
      keyId: string | null;
      events: ('approval.created' | 'approval.resolved')[];
      enabled: boolean;
      disabledReason: string | null;
      previousSecretUntil: string | null;
      createdAt: string;
      failures: number;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/webhooks': {
    id: string;
    url: string;
    keyId: string | null;
    events: ('approval.created' | 'approval.resolved')[];
    enabled: boolean;
    disabledReason: string | null;
    previousSecretUntil: string | null;
    createdAt: string;
    secret: string;
  };
  'PATCH /admin/v1/webhooks/{id}': {
    id: string;
    url: string;
    keyId: string | null;
    events: ('approval.created' | 'approval.resolved')[];
    enabled: boolean;
    disabledReason: string | null;
    previousSecretUntil: string | null;
    createdAt: string;
  };
  'POST /admin/v1/webhooks/{id}/rotate-secret': Answers['POST /admin/v1/webhooks'];
  'POST /admin/v1/webhooks/{id}/test': {
    status: number | null;
    durationMs: number;
    error: string | null;
    response: string | null;
  };
  'GET /admin/v1/webhooks/{id}/deliveries': {
    deliveries: {
      id: string;
      eventId: string;
      type: string;
      referenceId: string;
      status: 'pending' | 'delivered' | 'failed';
      attempts: {
        at: string;
        status: number | null;
        durationMs: number;
        error: string | null;
        response: string | null;
      }[];
      nextAttemptAt: string | null;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/audit': {
    entries: {
      id: string;
      at: string;
      keyId: string;
      sessionId: string | null;
      surface:
        | 'check'
        | 'mcp'
        | 'claude-code'
        | 'copilot'
        | 'grok'
        | 'vscode'
        | 'codex'
        | 'cursor'
        | 'gemini-cli'
        | 'windsurf'
        | 'goose'
        | 'authzen'
        | 'ext-authz'
        | 'opa'
        | 'toolhive'
        | 'litellm'
        | 'arcade'
        | 'obot';
      serverName: string;
      toolName: string;
      decision: 'allow' | 'deny' | 'pending';
      reason: string;
      policyId: string;
      policyVersion: number;
      ruleIndex: number | null;
      referenceId: string | null;
      latencyMs: number;
      reasonCode?: {
        code:
          | 'relayed'
          | 'outside_scope'
          | 'no_rule'
          | 'allows'
          | 'denies'
          | 'asks'
          | 'drifted'
          | 'unaccepted'
          | 'used_up'
          | 'no_subject'
          | 'unmetered';
        policy?: string;
        rule?: number;
        ruleName?: string;
        condition?: number;
        text?: string;
        limit?: string;
        atMost?: string;
        per?: 'key' | 'session' | 'person' | 'policy';
        window?: string;
        asks?: boolean;
        answer?: {
          is: 'waits' | 'freed' | 'denied' | 'too_many' | 'unseen';
          by?: 'grant' | 'approval';
          referenceId?: string;
          of?: 'key' | 'session';
          open?: number;
          text?: string;
          handedTo?: 'terminal' | 'proxy';
          whyNotFreed?:
            | 'unanswered'
            | 'timed_out'
            | 'denied'
            | 'opened_grant'
            | 'used'
            | 'withdrawn'
            | 'too_old'
            | 'unknown'
            | 'other_tool'
            | 'other_arguments'
            | 'other_definition'
            | 'other_approvers'
            | 'too_few_votes'
            | {
                asked:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
                here:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
              };
        };
        nearest?: {
          not: {
            why: 'false' | 'failed' | 'hours' | 'uncounted';
            condition?: number;
            limit?: string;
          };
          rule: number;
          ruleName?: string;
        };
        noPlace?: {
          of: 'key' | 'connected_tool';
          atMost: number;
        };
        marks?: string[];
      };
      personId?: string;
      shadow?: {
        policyId: string;
        policyVersion: number;
        decision: 'allow' | 'deny' | 'pending';
        ruleIndex: number | null;
      };
      traceId?: string;
      runId?: string;
      marks?: string[];
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/audit/tools': {
    tools: string[];
  };
  'GET /admin/v1/audit/{id}': {
    id: string;
    at: string;
    keyId: string;
    sessionId: string | null;
    surface:
      | 'check'
      | 'mcp'
      | 'claude-code'
      | 'copilot'
      | 'grok'
      | 'vscode'
      | 'codex'
      | 'cursor'
      | 'gemini-cli'
      | 'windsurf'
      | 'goose'
      | 'authzen'
      | 'ext-authz'
      | 'opa'
      | 'toolhive'
      | 'litellm'
      | 'arcade'
      | 'obot';
    serverName: string;
    toolName: string;
    decision: 'allow' | 'deny' | 'pending';
    reason: string;
    policyId: string;
    policyVersion: number;
    ruleIndex: number | null;
    referenceId: string | null;
    latencyMs: number;
    reasonCode?: {
      code:
        | 'relayed'
        | 'outside_scope'
        | 'no_rule'
        | 'allows'
        | 'denies'
        | 'asks'
        | 'drifted'
        | 'unaccepted'
        | 'used_up'
        | 'no_subject'
        | 'unmetered';
      policy?: string;
      rule?: number;
      ruleName?: string;
      condition?: number;
      text?: string;
      limit?: string;
      atMost?: string;
      per?: 'key' | 'session' | 'person' | 'policy';
      window?: string;
      asks?: boolean;
      answer?: {
        is: 'waits' | 'freed' | 'denied' | 'too_many' | 'unseen';
        by?: 'grant' | 'approval';
        referenceId?: string;
        of?: 'key' | 'session';
        open?: number;
        text?: string;
        handedTo?: 'terminal' | 'proxy';
        whyNotFreed?:
          | 'unanswered'
          | 'timed_out'
          | 'denied'
          | 'opened_grant'
          | 'used'
          | 'withdrawn'
          | 'too_old'
          | 'unknown'
          | 'other_tool'
          | 'other_arguments'
          | 'other_definition'
          | 'other_approvers'
          | 'too_few_votes'
          | {
              asked:
                | 'check'
                | 'mcp'
                | 'claude-code'
                | 'copilot'
                | 'grok'
                | 'vscode'
                | 'codex'
                | 'cursor'
                | 'gemini-cli'
                | 'windsurf'
                | 'goose'
                | 'authzen'
                | 'ext-authz'
                | 'opa'
                | 'toolhive'
                | 'litellm'
                | 'arcade'
                | 'obot';
              here:
                | 'check'
                | 'mcp'
                | 'claude-code'
                | 'copilot'
                | 'grok'
                | 'vscode'
                | 'codex'
                | 'cursor'
                | 'gemini-cli'
                | 'windsurf'
                | 'goose'
                | 'authzen'
                | 'ext-authz'
                | 'opa'
                | 'toolhive'
                | 'litellm'
                | 'arcade'
                | 'obot';
            };
      };
      nearest?: {
        not: {
          why: 'false' | 'failed' | 'hours' | 'uncounted';
          condition?: number;
          limit?: string;
        };
        rule: number;
        ruleName?: string;
      };
      noPlace?: {
        of: 'key' | 'connected_tool';
        atMost: number;
      };
      marks?: string[];
    };
    personId?: string;
    shadow?: {
      policyId: string;
      policyVersion: number;
      decision: 'allow' | 'deny' | 'pending';
      ruleIndex: number | null;
    };
    traceId?: string;
    runId?: string;
    marks?: string[];
    forwarded: {
      outcome:
        | 'ok'
        | 'tool_error'
        | 'upstream_failure'
        | 'timed_out'
        | 'cancelled'
        | 'sign_in_needed'
        | 'outcome_unknown';
      durationMs: number;
      at: string;
      result: {
        hidden: Record<string, number>;
        withheld: boolean;
        cut: boolean;
      } | null;
    } | null;
    settled: {
      ran: boolean;
      by: string;
      at: string;
      note: string | null;
    } | null;
    context: {
      keyName: string | null;
      policyName: string | null;
      policyCurrentVersion: number | null;
      sessionLabel: string | null;
      approval: {
        status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
        decidedBy: string | null;
        decidedAt: string | null;
        note: string | null;
      } | null;
    };
    traceUrl?: string;
  };
  'GET /admin/v1/calls': {
    calls: {
      toolCallId: string;
      keyId: string;
      sessionId: string | null;
      personId?: string;
      serverName: string;
      toolName: string;
      referenceId: string | null;
      at: string;
      unknownSince: string;
      settled: {
        ran: boolean;
        by: string;
        at: string;
        note: string | null;
      } | null;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/calls/{toolCallId}/settle': {
    toolCallId: string;
    keyId: string;
    sessionId: string | null;
    personId?: string;
    serverName: string;
    toolName: string;
    referenceId: string | null;
    at: string;
    unknownSince: string;
    settled: {
      ran: boolean;
      by: string;
      at: string;
      note: string | null;
    } | null;
  };
  'GET /admin/v1/audit/sealing': {
    publicKey: string;
    size: number;
    checkpoint: {
      size: number;
      root: string;
      createdAt: string;
      sealedThrough: string;
      prunedBefore: number;
      note: string;
    } | null;
  };
  'GET /admin/v1/audit/checkpoints': {
    checkpoints: {
      size: number;
      root: string;
      createdAt: string;
      sealedThrough: string;
      prunedBefore: number;
      note: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/audit/consistency': {
    from: number;
    to: number;
    path: string[];
  };
  'GET /admin/v1/audit/{id}/proof': {
    seq: number;
    size: number;
    path: string[];
    entry: {
      id: string;
      at: string;
      keyId: string;
      sessionId: string | null;
      surface:
        | 'check'
        | 'mcp'
        | 'claude-code'
        | 'copilot'
        | 'grok'
        | 'vscode'
        | 'codex'
        | 'cursor'
        | 'gemini-cli'
        | 'windsurf'
        | 'goose'
        | 'authzen'
        | 'ext-authz'
        | 'opa'
        | 'toolhive'
        | 'litellm'
        | 'arcade'
        | 'obot';
      serverName: string;
      toolName: string;
      decision: 'allow' | 'deny' | 'pending';
      reason: string;
      policyId: string;
      policyVersion: number;
      ruleIndex: number | null;
      referenceId: string | null;
      latencyMs: number;
      reasonCode?: {
        code:
          | 'relayed'
          | 'outside_scope'
          | 'no_rule'
          | 'allows'
          | 'denies'
          | 'asks'
          | 'drifted'
          | 'unaccepted'
          | 'used_up'
          | 'no_subject'
          | 'unmetered';
        policy?: string;
        rule?: number;
        ruleName?: string;
        condition?: number;
        text?: string;
        limit?: string;
        atMost?: string;
        per?: 'key' | 'session' | 'person' | 'policy';
        window?: string;
        asks?: boolean;
        answer?: {
          is: 'waits' | 'freed' | 'denied' | 'too_many' | 'unseen';
          by?: 'grant' | 'approval';
          referenceId?: string;
          of?: 'key' | 'session';
          open?: number;
          text?: string;
          handedTo?: 'terminal' | 'proxy';
          whyNotFreed?:
            | 'unanswered'
            | 'timed_out'
            | 'denied'
            | 'opened_grant'
            | 'used'
            | 'withdrawn'
            | 'too_old'
            | 'unknown'
            | 'other_tool'
            | 'other_arguments'
            | 'other_definition'
            | 'other_approvers'
            | 'too_few_votes'
            | {
                asked:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
                here:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
              };
        };
        nearest?: {
          not: {
            why: 'false' | 'failed' | 'hours' | 'uncounted';
            condition?: number;
            limit?: string;
          };
          rule: number;
          ruleName?: string;
        };
        noPlace?: {
          of: 'key' | 'connected_tool';
          atMost: number;
        };
        marks?: string[];
      };
      personId?: string;
      shadow?: {
        policyId: string;
        policyVersion: number;
        decision: 'allow' | 'deny' | 'pending';
        ruleIndex: number | null;
      };
      traceId?: string;
      runId?: string;
      marks?: string[];
    } | null;
    checkpoint: string;
  };
  'GET /admin/v1/shipping': {
    targets: {
      name: string;
      type: 'http' | 's3' | 'otlp' | 'syslog';
      to: string;
      state: 'ok' | 'failing' | 'unused';
      shippedTo: number | null;
      shippedAt: string | null;
      lagEntries: number;
      lagSeconds: number;
      failures: number;
      lastError: string | null;
      lastErrorAt: string | null;
    }[];
  };
  'GET /admin/v1/stats': {
    from: string;
    to: string;
    totals: {
      allow: number;
      deny: number;
      pending: number;
    };
    series: {
      allow: number;
      deny: number;
      pending: number;
      at: string;
    }[];
    topTools: {
      allow: number;
      deny: number;
      pending: number;
      tool: string;
      count: number;
    }[];
    topKeys: {
      allow: number;
      deny: number;
      pending: number;
      keyId: string;
      count: number;
    }[];
    latencyMs: {
      p50: number;
      p90: number;
      p99: number;
    } | null;
    pendingApprovals: number;
    deliveries: {
      pending: number;
      delivered: number;
      failed: number;
      oldestPendingAt: string | null;
    };
  };
  'GET /admin/v1/changes': {
    changes: {
      id: string;
      at: string;
      actor: string;
      action: string;
      target: string;
      detail: Record<string, unknown>;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/settings': {
    version: string;
    settings: {
      name: string;
      env: string;
      meaning: string;
      default: string | null;
      value: string | null;
      origin: 'default' | 'environment' | 'file';
    }[];
    stdioServers: string[];
    channels: {
      name: string;
      type: 'email' | 'slack' | 'teams' | 'http';
    }[];
  };
  'GET /admin/v1/doctor': {
    ok: boolean;
    checks: {
      name: string;
      state: 'good' | 'warning' | 'bad';
      message: string;
    }[];
  };
  'POST /admin/v1/setup': {
    id: string;
    email: string;
    role: 'admin' | 'approver' | 'viewer' | 'user';
    createdAt: string;
  };
  'GET /admin/v1/operators': {
    operators: {
      id: string;
      email: string;
      role: 'admin' | 'approver' | 'viewer' | 'user';
      groups: string[];
      status: 'active' | 'invited';
      createdAt: string;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/operators': {
    id: string;
    email: string;
    role: 'admin' | 'approver' | 'viewer' | 'user';
    groups: string[];
    status: 'active' | 'invited';
    createdAt: string;
    inviteUrl: string;
    inviteExpiresAt: string;
  };
  'PATCH /admin/v1/operators/{id}': {
    id: string;
    email: string;
    role: 'admin' | 'approver' | 'viewer' | 'user';
    groups: string[];
    status: 'active' | 'invited';
    createdAt: string;
  };
  'POST /admin/v1/operators/{id}/reset': {
    id: string;
    email: string;
    role: 'admin' | 'approver' | 'viewer' | 'user';
    groups: string[];
    status: 'active' | 'invited';
    createdAt: string;
    resetUrl: string;
    resetExpiresAt: string;
  };
  'GET /admin/v1/oauth-clients': {
    oauthClients: {
      clientId: string;
      name: string;
      redirectUris: string[];
      createdAt: string;
    }[];
    nextCursor: string | null;
  };
  'POST /admin/v1/oauth-clients': {
    clientId: string;
    name: string;
    redirectUris: string[];
    createdAt: string;
  };
  'POST /admin/v1/join': Answers['PATCH /admin/v1/operators/{id}'];
  'POST /admin/v1/sign-in': {
    email: string | null;
    role: 'admin' | 'approver' | 'viewer' | 'user';
    groups: string[];
    actor: string;
  };
  'GET /admin/v1/me': Answers['POST /admin/v1/sign-in'];
  'GET /admin/v1/me/sign-ins': {
    signIns: {
      id: string;
      createdAt: string;
      lastUsedAt: string;
      userAgent: string;
      ip: string;
      current: boolean;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/me/passkeys': {
    passkeys: {
      id: string;
      name: string;
      fingerprint: string;
      createdAt: string;
      lastUsedAt: string | null;
    }[];
    origin: string | null;
    signIn: boolean;
  };
  'POST /admin/v1/me/passkeys': {
    id: string;
    name: string;
    fingerprint: string;
    createdAt: string;
    lastUsedAt: string | null;
  };
  'POST /admin/v1/me/passkeys/options': {
    challenge: string;
  };
  'PATCH /admin/v1/me/passkeys/{id}': Answers['POST /admin/v1/me/passkeys'];
  'POST /admin/v1/passkey-sign-in/options': Answers['POST /admin/v1/me/passkeys/options'];
  'POST /admin/v1/passkey-sign-in': Answers['POST /admin/v1/sign-in'];
  'GET /admin/v1/me/connections': {
    connections: {
      id: string;
      clientId: string | null;
      clientName: string | null;
      keyId: string;
      keyName: string;
      createdAt: string;
      lastUsedAt: string | null;
      expiresAt: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/me/calls': {
    entries: {
      id: string;
      at: string;
      keyId: string;
      sessionId: string | null;
      surface:
        | 'check'
        | 'mcp'
        | 'claude-code'
        | 'copilot'
        | 'grok'
        | 'vscode'
        | 'codex'
        | 'cursor'
        | 'gemini-cli'
        | 'windsurf'
        | 'goose'
        | 'authzen'
        | 'ext-authz'
        | 'opa'
        | 'toolhive'
        | 'litellm'
        | 'arcade'
        | 'obot';
      serverName: string;
      toolName: string;
      decision: 'allow' | 'deny' | 'pending';
      reason: string;
      policyId: string;
      policyVersion: number;
      ruleIndex: number | null;
      referenceId: string | null;
      latencyMs: number;
      reasonCode?: {
        code:
          | 'relayed'
          | 'outside_scope'
          | 'no_rule'
          | 'allows'
          | 'denies'
          | 'asks'
          | 'drifted'
          | 'unaccepted'
          | 'used_up'
          | 'no_subject'
          | 'unmetered';
        policy?: string;
        rule?: number;
        ruleName?: string;
        condition?: number;
        text?: string;
        limit?: string;
        atMost?: string;
        per?: 'key' | 'session' | 'person' | 'policy';
        window?: string;
        asks?: boolean;
        answer?: {
          is: 'waits' | 'freed' | 'denied' | 'too_many' | 'unseen';
          by?: 'grant' | 'approval';
          referenceId?: string;
          of?: 'key' | 'session';
          open?: number;
          text?: string;
          handedTo?: 'terminal' | 'proxy';
          whyNotFreed?:
            | 'unanswered'
            | 'timed_out'
            | 'denied'
            | 'opened_grant'
            | 'used'
            | 'withdrawn'
            | 'too_old'
            | 'unknown'
            | 'other_tool'
            | 'other_arguments'
            | 'other_definition'
            | 'other_approvers'
            | 'too_few_votes'
            | {
                asked:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
                here:
                  | 'check'
                  | 'mcp'
                  | 'claude-code'
                  | 'copilot'
                  | 'grok'
                  | 'vscode'
                  | 'codex'
                  | 'cursor'
                  | 'gemini-cli'
                  | 'windsurf'
                  | 'goose'
                  | 'authzen'
                  | 'ext-authz'
                  | 'opa'
                  | 'toolhive'
                  | 'litellm'
                  | 'arcade'
                  | 'obot';
              };
        };
        nearest?: {
          not: {
            why: 'false' | 'failed' | 'hours' | 'uncounted';
            condition?: number;
            limit?: string;
          };
          rule: number;
          ruleName?: string;
        };
        noPlace?: {
          of: 'key' | 'connected_tool';
          atMost: number;
        };
        marks?: string[];
      };
      personId?: string;
      traceId?: string;
      runId?: string;
      marks?: string[];
      keyName: string;
    }[];
    nextCursor: string | null;
  };
  'GET /admin/v1/me/approvals': {
    approvals: {
      referenceId: string;
      toolCallId: string;
      keyId: string;
      keyName: string;
      sessionId: string | null;
      serverName: string;
      toolName: string;
      status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
      reason: string;
      createdAt: string;
      expiresAt: string;
      resolvedAt: string | null;
      note: string | null;
    }[];
    nextCursor: string | null;
  };
  'GET /oauth/clients/{document}': {
    client_id: string;
  };
  'GET /.well-known/oauth-protected-resource': {
    resource: string;
    authorization_servers: string[];
    scopes_supported: string[];
    bearer_methods_supported: string[];
    resource_name: string;
  };
  'GET /.well-known/oauth-authorization-server': {
    issuer: string;
    authorization_endpoint: string;
    token_endpoint: string;
    registration_endpoint: string;
    revocation_endpoint: string;
    response_types_supported: string[];
    response_modes_supported: string[];
    grant_types_supported: string[];
    scopes_supported: string[];
    code_challenge_methods_supported: string[];
    token_endpoint_auth_methods_supported: string[];
    revocation_endpoint_auth_methods_supported: string[];
    client_id_metadata_document_supported: boolean;
    authorization_response_iss_parameter_supported: boolean;
  };
  'GET /.well-known/oauth-protected-resource/mcp': Answers['GET /.well-known/oauth-protected-resource'];
  'GET /.well-known/oauth-authorization-server/mcp': Answers['GET /.well-known/oauth-authorization-server'];
  'POST /oauth/token': {
    access_token: string;
    token_type: string;
    expires_in: number;
    refresh_token: string;
    scope: string;
  };
  'POST /oauth/register': {
    client_id: string;
    client_id_issued_at: number;
    client_name: string;
    redirect_uris: string[];
    grant_types: string[];
    response_types: string[];
    token_endpoint_auth_method: string;
    scope: string;
  };
  'POST /v1/hooks/claude-code/command': {
    stdout: string;
    stderr: string;
    exitCode: number;
  };
  'POST /v1/hooks/copilot/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/grok/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/vscode/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/codex/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/cursor/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/gemini-cli/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/windsurf/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /v1/hooks/goose/command': Answers['POST /v1/hooks/claude-code/command'];
  'POST /access/v1/evaluation': {
    decision: boolean;
    context?: {
      reason: string;
      toolCallId?: string;
      evaluation_id?: string;
      access_request?: {
        id: string;
        expires_at: string;
      };
      error?: {
        status: number;
        message: string;
      };
    };
  };
  'POST /access/v1/evaluations':
    | {
        evaluations: {
          decision: boolean;
          context?: {
            reason: string;
            toolCallId?: string;
            evaluation_id?: string;
            access_request?: {
              id: string;
              expires_at: string;
            };
            error?: {
              status: number;
              message: string;
            };
          };
        }[];
      }
    | {
        decision: boolean;
        context?: {
          reason: string;
          toolCallId?: string;
          evaluation_id?: string;
          access_request?: {
            id: string;
            expires_at: string;
          };
          error?: {
            status: number;
            message: string;
          };
        };
      };
  'GET /.well-known/authzen-configuration': {
    policy_decision_point: string;
    access_evaluation_endpoint: string;
    access_evaluations_endpoint: string;
  };
  'POST /v1/data/toolgate/allow': {
    result: boolean;
  };
  'POST /v1/data/toolgate/decision': {
    result: {
      allow: boolean;
      decision: 'allow' | 'deny' | 'pending';
      reason: string;
      referenceId: string | null;
    };
  };
  'POST /v1/hooks/toolhive': {
    version: string;
    uid: string;
    allowed: boolean;
    reason?: string;
  };
  'POST /v1/hooks/litellm/beta/litellm_basic_guardrail_api': {
    action: 'NONE' | 'BLOCKED';
    blocked_reason?: string;
  };
  'POST /v1/hooks/arcade/pre': {
    code: 'OK' | 'CHECK_FAILED';
    error_message?: string;
  };
  'GET /healthz': {
    status: string;
    version: string;
  };
  'GET /readyz': Answers['GET /healthz'];
}
