import fewratio

a = fewratio.read_table('teams.csv')
result = fewratio.compare_datasets(a, by='team', random_state=0)
print(result.verdict)
result.to_html('report.html')
