{{- /* The arguments of `stepward console`, as JSON. */ -}}
{{- define "stepward.consoleArguments" -}}
{{- $console := .Values.console -}}
{{- $arguments := list "console" "--host" "0.0.0.0" "--port" "8321" "--url" $console.url -}}
{{- if $console.tlsSecret -}}
{{- $arguments = concat $arguments (list "--tls-cert" "/etc/stepward-console/tls.crt" "--tls-key" "/etc/stepward-console/tls.key") -}}
{{- end -}}
{{- if $console.proxy }}{{ $arguments = concat $arguments (list "--proxy" $console.proxy) }}{{ end -}}
{{- with $console.openid -}}
{{- if .issuer -}}
{{- $arguments = concat $arguments (list "--oidc-issuer" .issuer "--oidc-client-id" .clientId "--oidc-claim" .claim) -}}
{{- range .roles }}{{ $arguments = concat $arguments (list "--oidc-role" .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $arguments -}}
{{- end -}}
