type Texts = Readonly<Record<string, string>>;

/** What every object has; the rest is for those who know its kind. */
export interface KubeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Texts;
  };
}

/** A probe over HTTP, the only one that the manifests have. */
export interface HttpProbe {
  readonly httpGet: { readonly port: number; readonly path: string; readonly host?: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly livenessProbe?: HttpProbe;
  readonly readinessProbe?: HttpProbe;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources?: Readonly<Record<'limits' | 'requests', Texts | undefined>>;
  readonly securityContext?: {
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly readOnlyRootFilesystem?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly capabilities?: Readonly<Partial<Record<'add' | 'drop', readonly string[]>>>;
  };
}

interface Selector {
  readonly matchLabels: Texts;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: {
    readonly seccompProfile?: { readonly type: string };
    readonly supplementalGroups?: readonly number[];
    readonly fsGroup?: number;
    readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tolerations?: readonly unknown[];
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string };
    readonly projected?: { readonly sources: readonly { readonly serviceAccountToken?: object }[] };
  }[];
}

export interface Deployment extends KubeManifest {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Selector;
    readonly template: { readonly metadata: { readonly labels: Texts }; readonly spec: PodSpec };
  };
}

export interface DaemonSet extends KubeManifest {
  readonly spec: Deployment['spec'] & {
    readonly updateStrategy: {
      readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number };
    };
  };
}

/** One rule of a ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** The kinds that the manifests have, with the fields that tests read. */
export interface ManifestKinds {
  ClusterRole: KubeManifest & { readonly rules: readonly PolicyRule[] };
  ClusterRoleBinding: KubeManifest & {
    readonly roleRef: { readonly name: string };
    readonly subjects: readonly Subject[];
  };
  ConfigMap: KubeManifest & { readonly data?: Texts };
  DaemonSet: DaemonSet;
  Deployment: Deployment;
  PodDisruptionBudget: KubeManifest & { readonly spec: { readonly selector: Selector } };
  PrometheusRule: KubeManifest;
  Service: KubeManifest & {
    readonly spec: {
      readonly clusterIP: string;
      readonly selector: Texts;
      readonly ports: readonly { readonly name: string; readonly port: number }[];
    };
  };
  ServiceAccount: KubeManifest;
  ServiceMonitor: KubeManifest & {
    readonly spec: {
      readonly jobLabel: string;
      readonly selector: Selector;
      readonly endpoints: readonly { readonly port: string; readonly path: string }[];
    };
  };
}
