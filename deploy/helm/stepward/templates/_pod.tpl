{{- /* A pod's template: root, component, part (its values), arguments, kind (actor, pass or console). */ -}}
{{- define "stepward.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "stepward.selector" . | nindent 4 }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ $values.serviceAccountName }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .kind "actor" }}
  terminationGracePeriodSeconds: {{ include "stepward.endSeconds" .root | int | add 5 }}
  {{- else }}
  terminationGracePeriodSeconds: 30
  {{- end }}
  {{- if ne .kind "pass" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "stepward.selector" . | nindent 10 }}
  {{- else }}
  restartPolicy: Never
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: stepward
      image: {{ printf "%s:%s" $values.image.repository (include "stepward.tag" .) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .arguments }}
      env:
        {{- include "stepward.variables" . | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      {{- include "stepward.probes" . | nindent 6 }}
      resources:
        {{- toYaml .part.resources | nindent 8 }}
      volumeMounts:
        - name: temporary
          mountPath: /tmp
        {{- range $number, $file := include "stepward.files" . | fromJsonArray }}
        - name: files-{{ $number }}
          mountPath: {{ $file.path }}
          readOnly: true
        {{- end }}
  volumes:
    - name: temporary
      emptyDir:
        sizeLimit: {{ $values.temporarySize }}
    {{- range $number, $file := include "stepward.files" . | fromJsonArray }}
    - name: files-{{ $number }}
      {{- if $file.secret }}
      secret:
        secretName: {{ $file.secret }}
        defaultMode: 0440
      {{- else }}
      configMap:
        name: {{ $file.configMap }}
      {{- end }}
    {{- end }}
{{- end -}}

{{- define "stepward.tag" -}}
{{- $image := .root.Values.image -}}
{{- if hasPrefix "agent-" .component }}{{ default $image.tag $image.agentTag }}{{ else }}{{ $image.tag }}{{ end -}}
{{- end -}}

{{- define "stepward.files" -}}
{{- $files := .root.Values.files -}}
{{- if and (eq .kind "console") .part.tlsSecret -}}
{{- $files = append $files (dict "secret" .part.tlsSecret "path" "/etc/stepward-console") -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{- define "stepward.variables" -}}
{{- $secrets := mergeOverwrite (deepCopy (default dict .root.Values.secrets)) (default dict .part.secrets) -}}
{{- if not (hasKey $secrets "STEPWARD_STORE") -}}
{{- fail (printf "secrets: expected STEPWARD_STORE for %s, the Secret with the address of its database, found none; give secrets.STEPWARD_STORE" .component) -}}
{{- end -}}
- name: STEPWARD_LEASE
  value: "{{ .root.Values.leaseSeconds }}s"
- name: STEPWARD_DRAIN
  value: "{{ .root.Values.drainSeconds }}s"
{{- if not (hasKey $secrets "STEPWARD_TRANSPORT") }}
- name: STEPWARD_TRANSPORT
  value: store
{{- end }}
{{- range $name, $value := .root.Values.settings }}
- name: STEPWARD_{{ upper $name }}
  value: {{ quote $value }}
{{- end }}
{{- range $name, $reference := $secrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $reference.secret }}
      key: {{ $reference.key }}
{{- end }}
{{- end -}}

{{- /* A process that hangs ends itself after hang_limit, 30 s unless set: the liveness probe is for what it cannot see. */ -}}
{{- define "stepward.probes" -}}
{{- if ne .kind "pass" -}}
{{- $port := ternary "console" "metrics" (eq .kind "console") -}}
{{- $scheme := ternary "HTTPS" "HTTP" (and (eq .kind "console") (not (empty .part.tlsSecret))) -}}
ports:
  - name: {{ $port }}
    containerPort: {{ ternary 8321 9464 (eq .kind "console") }}
startupProbe:
  httpGet: {path: /livez, port: {{ $port }}, scheme: {{ $scheme }}}
  periodSeconds: 3
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: {{ $port }}, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ $port }}, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- if eq .kind "console" }}
# The pod leaves the Service before it stops to answer.
lifecycle:
  preStop:
    exec:
      command: [sleep, "5"]
{{- end }}
{{- end -}}
{{- end -}}
