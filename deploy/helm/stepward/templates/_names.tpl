{{- /* The name of an object: the release's, and the component's. */ -}}
{{- define "stepward.name" -}}
{{ .root.Release.Name | trunc 30 | trimSuffix "-" }}-{{ .component }}
{{- end -}}

{{- define "stepward.selector" -}}
app.kubernetes.io/name: stepward
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "stepward.metadata" -}}
name: {{ include "stepward.name" . }}
labels:
  {{- include "stepward.selector" . | nindent 2 }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- /* The processes that are Deployments, by component, as JSON: each with its values. */ -}}
{{- define "stepward.deployments" -}}
{{- $found := dict "scheduler" .Values.scheduler -}}
{{- range $name, $given := .Values.agents -}}
{{- $_ := set $found (printf "agent-%s" $name) (mergeOverwrite (deepCopy $.Values.agentDefaults) (default dict $given)) -}}
{{- end -}}
{{- if eq .Values.supervisor.mode "deployment" }}{{ $_ := set $found "supervisor" .Values.supervisor }}{{ end -}}
{{- if .Values.submission.enabled }}{{ $_ := set $found "submission" .Values.submission }}{{ end -}}
{{- if .Values.console.enabled }}{{ $_ := set $found "console" .Values.console }}{{ end -}}
{{- toJson $found -}}
{{- end -}}

{{- /* Seconds from SIGTERM to the end: drain and lease, 15 at least, and 5 for code that still runs. */ -}}
{{- define "stepward.endSeconds" -}}
{{ add (max 15 (add .Values.drainSeconds .Values.leaseSeconds)) 5 }}
{{- end -}}
